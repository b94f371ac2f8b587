"""uv's command lines for what a `python_packages` action asks."""

from collections.abc import Mapping

from stackplan.actions._installer_facts import InstallerFacts
from stackplan.actions._installer_words import OTHERS_SETTINGS, address_words, each, file_words, wanted_words
from stackplan.actions._invocation import Invocation, Word, words
from stackplan.actions._wishes import Wishes
from stackplan.model.secret import Text

# By variables rather than options, so that an older uv, which does not know one of them, still runs.
_QUIET: Mapping[str, Text] = {"UV_NO_PROGRESS": "1"}
_CLEAN: Mapping[str, Text] = {"UV_NO_CONFIG": "1", "PIP_CONFIG_FILE": "/dev/null", "PYTHONNOUSERSITE": "1"}


def create(wishes: Wishes, node: InstallerFacts, python: str | None) -> Invocation:
    """Return how the environment is made."""
    which = () if python is None else words("--python", node.expand(python))
    return _invocation(wishes, node, (*words("venv"), *which, Word(wishes.venv, node.venv)), {})


def uninstall(wishes: Wishes, node: InstallerFacts) -> Invocation:
    return _invocation(wishes, node, (*words("pip", "uninstall", *wishes.remove), *_python(wishes, node)), {})


def install(wishes: Wishes, node: InstallerFacts) -> Invocation:
    """Return how the wanted packages are installed.

    An index with a password goes through the environment, where other users of the node cannot read it.
    """
    environment: dict[str, Text] = {}
    flags = (
        ("--upgrade", wishes.upgrade.everything),
        ("--reinstall", wishes.reinstall.everything),
        ("--no-deps", wishes.no_deps),
    )
    line = (
        *words("pip", "install"),
        *wanted_words(wishes, node),
        *file_words("-r", wishes.requirements, node),
        *file_words("--constraints", wishes.constraints, node),
        *file_words("--overrides", wishes.overrides, node),
        *words(*(flag for flag, given in flags if given)),
        *each("--upgrade-package", wishes.upgrade.names),
        *each("--reinstall-package", wishes.reinstall.names),
        *_choices(wishes),
        *each("--only-binary", wishes.only_binary),
        *_addresses(wishes, node, environment),
        *_python(wishes, node),
    )
    return _invocation(wishes, node, line, environment)


def locate(wishes: Wishes, node: InstallerFacts) -> Invocation:
    """Return how uv is asked where it would take exact versions from, which it reads from its standard input."""
    environment: dict[str, Text] = {}
    line = (
        *words("pip", "compile", "-", "--no-deps", "--format", "pylock.toml", "--no-header", "--quiet"),
        *_choices(wishes),
        *_addresses(wishes, node, environment),
        *_python(wishes, node),
    )
    return _invocation(wishes, node, line, environment)


def _choices(wishes: Wishes) -> tuple[Word, ...]:
    settings = (
        ("--index-strategy", wishes.index_strategy),
        ("--torch-backend", wishes.torch_backend),
        ("--prerelease", wishes.prerelease),
    )
    return words(*(part for option, value in settings if value is not None for part in (option, value)))


def _addresses(wishes: Wishes, node: InstallerFacts, environment: dict[str, Text]) -> tuple[Word, ...]:
    """Return the options for all sources; those with a password are put into `environment` instead."""
    index = () if wishes.index_url is None else (wishes.index_url,)
    return (
        *address_words("--index-url", "UV_INDEX_URL", index, environment),
        *address_words("--extra-index-url", "UV_EXTRA_INDEX_URL", wishes.extra_index_urls, environment),
        *address_words("--find-links", "UV_FIND_LINKS", wishes.links(node.home), environment, ","),
    )


def _python(wishes: Wishes, node: InstallerFacts) -> tuple[Word, ...]:
    return (*words("--python"), Word(f"{wishes.venv}/bin/python", f"{node.venv}/bin/python"))


def _invocation(
    wishes: Wishes, node: InstallerFacts, line: tuple[Word, ...], environment: Mapping[str, Text]
) -> Invocation:
    assert node.uv is not None
    clean = {} if wishes.inherit_config else _CLEAN
    return Invocation(
        line=(Word("uv", node.uv), *line),
        environment={**_QUIET, **clean, **environment},
        drop_environment=_dropped(wishes),
    )


def _dropped(wishes: Wishes) -> tuple[str, ...]:
    if not wishes.inherit_config:
        return OTHERS_SETTINGS
    # What the step itself says goes before what the node's environment says, whatever uv would make of both.
    return ("UV_INDEX_URL", "UV_DEFAULT_INDEX") if wishes.index_url is not None else ()
