"""pip's command lines for what a `python_packages` action asks, and what pip has no means for."""

from collections.abc import Iterator, Mapping

from stackplan.actions._installer_facts import InstallerFacts
from stackplan.actions._installer_words import OTHERS_SETTINGS, address_words, each, file_words, wanted_words
from stackplan.actions._invocation import Invocation, Word, words
from stackplan.actions._wishes import Wishes
from stackplan.model.secret import Text

_QUIET: Mapping[str, Text] = {
    "PIP_NO_INPUT": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_PROGRESS_BAR": "off",
    "PIP_ROOT_USER_ACTION": "ignore",
}
_CLEAN: Mapping[str, Text] = {"PIP_CONFIG_FILE": "/dev/null", "PYTHONNOUSERSITE": "1"}


def impossible(wishes: Wishes) -> Iterator[tuple[str, str]]:
    """Yield the arguments that pip has no means for, each with what it lacks."""
    if wishes.overrides is not None:
        yield "overrides", "pip cannot override what packages require"
    if wishes.index_strategy is not None:
        yield "index_strategy", "pip always takes the best version of all indexes"
    if wishes.torch_backend is not None:
        yield "torch_backend", "pip does not choose torch's index by itself"
    if wishes.prerelease not in (None, "allow", "if-necessary-or-explicit"):
        yield "prerelease", "pip either admits pre-releases (`allow`) or leaves it to the requirement"
    for key, selection in (("upgrade", wishes.upgrade), ("reinstall", wishes.reinstall)):
        if selection.names and set(selection.names) != set(wishes.names):
            yield key, f"pip can {key} only all packages of the action together"


def create(wishes: Wishes, node: InstallerFacts) -> Invocation:
    """Return how the environment is made, with the node's own Python."""
    assert node.base_python is not None
    line = (*words(node.base_python, "-m", "venv"), Word(wishes.venv, node.venv))
    return Invocation(line=line, environment=_environment(wishes), drop_environment=_dropped(wishes))


def uninstall(wishes: Wishes, node: InstallerFacts) -> Invocation:
    return _invocation(wishes, node, words("uninstall", "--yes", *wishes.remove), {})


def install(wishes: Wishes, node: InstallerFacts) -> Invocation:
    """Return how the wanted packages are installed; an index with a password goes through the environment."""
    environment: dict[str, Text] = {}
    index = () if wishes.index_url is None else (wishes.index_url,)
    flags = (
        ("--upgrade", bool(wishes.upgrade)),
        ("--force-reinstall", bool(wishes.reinstall)),
        ("--pre", wishes.prerelease == "allow"),
        ("--no-deps", wishes.no_deps),
    )
    line = (
        *words("install"),
        *wanted_words(wishes, node),
        *file_words("-r", wishes.requirements, node),
        *file_words("-c", wishes.constraints, node),
        *words(*(flag for flag, given in flags if given)),
        *each("--only-binary", wishes.only_binary),
        *address_words("--index-url", "PIP_INDEX_URL", index, environment),
        *address_words("--extra-index-url", "PIP_EXTRA_INDEX_URL", wishes.extra_index_urls, environment),
        *address_words("--find-links", "PIP_FIND_LINKS", wishes.links(node.home), environment),
    )
    return _invocation(wishes, node, line, environment)


def _invocation(
    wishes: Wishes, node: InstallerFacts, line: tuple[Word, ...], environment: Mapping[str, Text]
) -> Invocation:
    interpreter = Word(f"{wishes.venv}/bin/python", f"{node.venv}/bin/python")
    return Invocation(
        line=(interpreter, *words("-m", "pip"), *line),
        environment={**_environment(wishes), **environment},
        drop_environment=_dropped(wishes),
    )


def _environment(wishes: Wishes) -> Mapping[str, Text]:
    return _QUIET if wishes.inherit_config else {**_QUIET, **_CLEAN}


def _dropped(wishes: Wishes) -> tuple[str, ...]:
    return () if wishes.inherit_config else OTHERS_SETTINGS
