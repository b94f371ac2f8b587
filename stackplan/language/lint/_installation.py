"""One call of an installer, however it is written: a `python_packages` step, or `pip install` in a script."""

import re
from collections.abc import Iterable, Iterator, Mapping

from stackplan.language.lint import _installers, _wanted
from stackplan.language.lint._script import Script
from stackplan.language.lint._shell import Command
from stackplan.language.lint._wanted import Index, Wanted, build_of
from stackplan.model.arguments import Arguments
from stackplan.model.cached import cached_property
from stackplan.model.frozen import dataclass
from stackplan.model.location import Location
from stackplan.model.pep503 import canonical_name
from stackplan.model.regular import regular

Names = frozenset[str] | None
"""Names of packages; None for all of them."""
Variables = Mapping[str, tuple[object, Location]]

BACKED = _wanted.TORCH_FAMILY | {"torchao"}
"""What uv takes from the index of `torch_backend`; everything else comes from where it came from without."""
_VARIABLES = {
    "UV_INDEX_URL": "index_url",
    "UV_DEFAULT_INDEX": "index_url",
    "PIP_INDEX_URL": "index_url",
    "UV_EXTRA_INDEX_URL": "extra_index_urls",
    "UV_INDEX": "extra_index_urls",
    "PIP_EXTRA_INDEX_URL": "extra_index_urls",
    "UV_FIND_LINKS": "find_links",
    "PIP_FIND_LINKS": "find_links",
}
_ADDRESSES = {
    "-i": "-i", "--index-url": "--index-url", "--default-index": "--default-index", "--pypi-url": "--pypi-url",
    "--extra-index-url": "--extra-index-url", "--index": "--index", "-f": "-f", "--find-links": "--find-links",
}  # fmt: skip
_TAKING = frozenset({
    "-r", "--requirement", "--requirements", "-c", "--constraint", "--constraints", "--override", "--overrides",
    "-p", "--python", "-t", "--target", "--prefix", "--root", "--src", "--upgrade-package", "-P",
    "--reinstall-package", "--torch-backend", "--index-strategy", "--prerelease", "--resolution",
    "--keyring-provider", "--trusted-host", "--proxy", "--timeout", "--retries", "--cert", "--cache-dir",
    "--no-binary", "--only-binary", "--platform", "--python-version", "--implementation", "--abi", "--exclude-newer",
    "--link-mode", "--extra", "--progress-bar", "--log", "--report", "--build-option", "--global-option",
    "--config-settings", "-C", "--upgrade-strategy", "--refresh-package", "--no-build-package",
})  # fmt: skip
_FILES = ("-r", "--requirement", "--requirements")
_EVERYTHING = {
    "upgrade": ("-U", "--upgrade"),
    "reinstall": ("--reinstall", "--force-reinstall"),
}
_BY_NAME = {"upgrade": ("-P", "--upgrade-package"), "reinstall": ("--reinstall-package",)}
_MAKERS = regular(r"\bvenv\b|virtualenv")


@dataclass(frozen=True)
class Installation:
    """What an installer is asked for. `fresh` where the environment is made in the same step.

    `backend` is uv's choice of a build, `strategy` its choice among several indexes.
    """

    wanted: tuple[Wanted, ...]
    indexes: tuple[Index, ...]
    venv: str | None = None
    backend: str | None = None
    upgrade: Names = frozenset()
    reinstall: Names = frozenset()
    fresh: bool = False
    strategy: str | None = None

    @cached_property
    def tag(self) -> str | None:
        """The build that the indexes name, where they name one and no other."""
        found = {it.tag for it in self.indexes if it.tag is not None}
        return found.pop() if len(found) == 1 else None

    def source(self, name: str) -> str | None:
        """Return the build that a package comes in from where it is taken, None where that tells none."""
        return self.tag or (self.backend if name in BACKED else None)

    def build(self, it: Wanted) -> str | None:
        """Return the build that a requirement asks for: by its label, or by where it comes from."""
        return build_of(it.label) if it.label is not None else self.source(it.name)

    @property
    def field(self) -> str:
        """What names the place that packages come from: index_url, UV_INDEX_URL, -i."""
        return self.indexes[0].field if self.indexes else "torch_backend"

    def upgrades(self, name: str) -> bool:
        return self.upgrade is None or name in self.upgrade

    def reinstalls(self, name: str) -> bool:
        return self.reinstall is None or name in self.reinstall


def of_step(arguments: Arguments, variables: Variables, written: Mapping[str, Script]) -> Installation:
    """Return what a `python_packages` step asks for; `written` are the files that steps of the playbook write."""
    path = arguments.values.get("requirements")
    file = written.get(path) if isinstance(path, str) else None
    lines = _Lines(file) if file is not None else None
    strategy = arguments.values.get("index_strategy") or _plain(variables, "UV_INDEX_STRATEGY")
    backend = arguments.values.get("torch_backend") or _plain(variables, "UV_TORCH_BACKEND")
    return Installation(
        wanted=(*_wanted.wanted(arguments), *(() if lines is None else lines.wanted())),
        indexes=(*_wanted.indexes(arguments), *_of_variables(variables), *(() if lines is None else lines.indexes())),
        venv=venv if isinstance(venv := arguments.values.get("venv"), str) else None,
        backend=_backend(backend) if arguments.values.get("installer") != "pip" else None,
        upgrade=_wanted.names(arguments, "upgrade"),
        reinstall=_wanted.names(arguments, "reinstall"),
        fresh="create" in arguments,
        strategy=_word(strategy) if arguments.values.get("installer") != "pip" else None,
    )


def of_script(script: Script, variables: Variables, written: Mapping[str, Script]) -> Iterator[Installation]:
    """Yield what each `pip install` of a script asks for."""
    known = dict(variables)
    fresh = False
    makes = script.mentions("venv", "virtualenv")
    for command in script.commands:
        fresh = fresh or (makes and _MAKERS.search(" ".join(command.words[:4])) is not None and command.program != "rm")
        if command.program in ("", "export"):
            known |= _set_by((*command.assignments, *command.words[1:]), script.place(command))
        elif _installers.verb(command) == "install":
            own = known | _set_by(command.assignments, script.place(command))
            yield _of_command(command, script.place(command), own, written, fresh=fresh)


def _of_command(
    command: Command, at: Location, variables: Variables, written: Mapping[str, Script], *, fresh: bool
) -> Installation:
    options, plain = _taken_apart(command.words[command.words.index("install") + 1 :])
    files = [
        written[it] for option, it in options if option in ("-r", "--requirement", "--requirements") and it in written
    ]
    lines = [_Lines(it) for it in files]
    python = next((it for option, it in options if option in ("-p", "--python")), None) or command.words[0]
    backend = next((it for option, it in options if option == "--torch-backend"), None)
    strategy = next((it for option, it in options if option == "--index-strategy"), None)
    return Installation(
        wanted=(
            *(Wanted.of(found, text, at) for text in plain if (found := _wanted.parsed(text)) is not None),
            *(it for file in lines for it in file.wanted()),
        ),
        indexes=(
            *(Index(it, at, _ADDRESSES[option]) for option, it in options if option in _ADDRESSES and "{{" not in it),
            *_of_variables(variables),
            *(it for file in lines for it in file.indexes()),
        ),
        venv=match[1] if (match := re.fullmatch(r"(.+?)(?:/bin/[^/]+)", python)) else None,
        backend=_backend(backend or _plain(variables, "UV_TORCH_BACKEND")) if command.program == "uv" else None,
        upgrade=_names(options, "upgrade"),
        reinstall=_names(options, "reinstall"),
        fresh=fresh or any(option in ("-t", "--target", "--root", "--prefix") for option, _ in options),
        strategy=_word(strategy or _plain(variables, "UV_INDEX_STRATEGY")) if command.program == "uv" else None,
    )


class _Lines:
    """A requirements file that another step writes."""

    def __init__(self, file: Script) -> None:
        self._file = file

    def wanted(self) -> Iterator[Wanted]:
        for text, at in self._each():
            if (found := _wanted.parsed(text)) is not None:
                yield Wanted.of(found, text, at)

    def indexes(self) -> Iterator[Index]:
        for text, at in self._each():
            if text.startswith("-"):
                options, _ = _taken_apart(tuple(text.split()))
                yield from (Index(it, at, option) for option, it in options if option in _ADDRESSES and "{{" not in it)

    def _each(self) -> Iterator[tuple[str, Location]]:
        offset = 0
        for line in self._file.text.splitlines(keepends=True):
            text = re.split(r"\s+#|\s+--hash|\s*\\$", line.strip())[0]
            if text and not text.startswith("#"):
                yield text, self._file.place_at(offset)
            offset += len(line)


def _taken_apart(words: tuple[str, ...]) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the options among words, each with its value ("" where it takes none), and the other words."""
    options: list[tuple[str, str]] = []
    plain: list[str] = []
    left = iter(words)
    for word in left:
        option, equals, value = word.partition("=")
        if not word.startswith("-"):
            plain.append(word)
        elif option in _ADDRESSES or option in _TAKING:
            options.append((option, value if equals else next(left, "")))
        elif word[:2] in ("-i", "-f", "-r", "-c") and not word.startswith("--"):
            options.append((word[:2], word[2:]))
        else:
            options.append((word, ""))
    return options, plain


def _names(options: Iterable[tuple[str, str]], what: str) -> Names:
    if any(option in _EVERYTHING[what] for option, _ in options):
        return None
    return frozenset(canonical_name(it) for option, it in options if option in _BY_NAME[what])


def _set_by(words: Iterable[str], at: Location) -> dict[str, tuple[object, Location]]:
    pairs = (word.partition("=") for word in words)
    return {name: (value, at) for name, equals, value in pairs if equals}


def _of_variables(variables: Variables) -> Iterator[Index]:
    for name in _VARIABLES.keys() & variables.keys():
        value, at = variables[name]
        for text in re.split(r"[\s,]+", value) if isinstance(value, str) and "{{" not in value else ():
            # UV_INDEX also takes NAME=ADDRESS.
            yield Index(re.sub(r"^[\w.-]+=(?=[a-z+]+://)", "", text), at, name)


def _plain(variables: Variables, name: str) -> object:
    return variables[name][0] if name in variables else None


def _word(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _backend(value: object) -> str | None:
    return build_of(value) if isinstance(value, str) else None
