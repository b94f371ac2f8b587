"""What a `python_packages` action asks of an installer, whichever it will be."""

import enum
from collections.abc import Mapping
from dataclasses import replace

from stackplan.actions._requirements import Wanted, read_names, read_wanted
from stackplan.actions._sources import Address, address, read_address, read_addresses
from stackplan.model.arguments import Arguments
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.frozen import dataclass
from stackplan.model.pep503 import canonical_name
from stackplan.model.secret import Secret, Text, Unread, reveal

INDEX_STRATEGIES = ("first-index", "unsafe-first-match", "unsafe-best-match")
PRERELEASES = ("allow", "disallow", "if-necessary", "explicit", "if-necessary-or-explicit")


class Installer(enum.Enum):
    AUTO = "auto"
    UV = "uv"
    PIP = "pip"


@dataclass(frozen=True, slots=True)
class Selection:
    """Which packages something is done to: all of them, or those named (canonically)."""

    everything: bool = False
    names: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.everything or bool(self.names)

    def covers(self, name: str) -> bool:
        return self.everything or canonical_name(name) in self.names


@dataclass(frozen=True, slots=True)
class Lines:
    """Requirement lines that stand in the playbook, or the `path` of a file of them on the node."""

    path: str | None = None
    text: Text | None = None
    count: int = 0


@dataclass(frozen=True, slots=True)
class Create:
    """Make the environment where there is none, for this Python (a version or a path; None: the node's own)."""

    python: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """The arguments, read; lists of names are canonical."""

    venv: str
    wanted: tuple[Wanted, ...]
    remove: tuple[str, ...]
    requirements: Lines | None
    constraints: Lines | None
    overrides: Lines | None
    index_url: Address | None
    extra_index_urls: tuple[Address, ...]
    find_links: tuple[Address, ...]
    index_strategy: str | None
    torch_backend: str | None
    upgrade: Selection
    reinstall: Selection
    prerelease: str | None
    no_deps: bool
    only_binary: tuple[str, ...]
    installer: Installer
    inherit_config: bool
    create: Create | None
    environment: Mapping[str, Text]

    @property
    def names(self) -> tuple[str, ...]:
        """The canonical names that are to be installed, so far as the playbook tells them."""
        return tuple(dict.fromkeys(it.name for it in self.wanted if it.name is not None))

    @property
    def indexes(self) -> tuple[Address, ...]:
        """The indexes that the step names, the main one first."""
        return (*(() if self.index_url is None else (self.index_url,)), *self.extra_index_urls)

    @property
    def installs(self) -> bool:
        return bool(self.wanted) or self.requirements is not None

    def links(self, home: str) -> tuple[Address, ...]:
        """Return `find_links` with `~` replaced in those that are folders."""
        return tuple(
            replace(it, text=home + it.text[1:]) if isinstance(it.text, str) and it.text.startswith("~/") else it
            for it in self.find_links
        )


def read_wishes(arguments: Arguments) -> Wishes:
    """Return what the arguments ask for. Raise Invalid for what no installer could do."""
    create = arguments.section("create")
    wishes = Wishes(
        venv=_venv(arguments),
        wanted=read_wanted(arguments),
        remove=read_names(arguments, "remove"),
        requirements=_lines(arguments, "requirements"),
        constraints=_lines(arguments, "constraints"),
        overrides=_lines(arguments, "overrides"),
        index_url=read_address(arguments, "index_url") if "index_url" in arguments else None,
        extra_index_urls=read_addresses(arguments, "extra_index_urls"),
        find_links=tuple(address(link) for link in arguments.secret_texts("find_links")),
        index_strategy=_choice(arguments, "index_strategy", INDEX_STRATEGIES),
        torch_backend=arguments.optional_text("torch_backend"),
        upgrade=_selection(arguments, "upgrade"),
        reinstall=_selection(arguments, "reinstall"),
        prerelease=_choice(arguments, "prerelease", PRERELEASES),
        no_deps=arguments.flag("no_deps", default=False),
        only_binary=_only_binary(arguments),
        installer=Installer(_choice(arguments, "installer", tuple(it.value for it in Installer)) or "auto"),
        inherit_config=arguments.flag("inherit_config", default=False),
        create=None if create is None else Create(create.optional_text("python")),
        environment=arguments.step_environment,
    )
    _check(arguments, wishes)
    return wishes


def _check(arguments: Arguments, wishes: Wishes) -> None:
    if not wishes.installs and not wishes.remove and wishes.create is None:
        summary = "the action installs and removes nothing"
        expected = "`packages`, `requirements` or `remove`"
        raise Invalid([Diagnosis(summary=summary, expected=expected, at=arguments.at)])
    if both := [name for name in wishes.names if name in wishes.remove]:
        summary = f"{both[0]} stands under `packages` and under `remove`"
        remedy = f"take {both[0]} out of one of them; to have its files written anew, use `reinstall: [{both[0]}]`"
        raise arguments.invalid("remove", summary, remedy=remedy)
    if not wishes.installs:
        for key in ("upgrade", "reinstall", "constraints", "overrides", "no_deps", "index_url", "torch_backend"):
            if key in arguments:
                raise arguments.invalid(key, f"`{key}` has no effect: the action installs nothing", remedy="remove it")


def _venv(arguments: Arguments) -> str:
    venv = arguments.text("venv")
    if not venv.strip() or "\0" in venv or "\n" in venv:
        raise arguments.invalid("venv", "`venv` names no folder", expected="a path such as ~/ml-env")
    return venv.rstrip("/") or "/"


def _choice(arguments: Arguments, key: str, choices: tuple[str, ...]) -> str | None:
    text = arguments.optional_text(key)
    if text is not None and text not in choices:
        raise arguments.invalid(key, f"`{key}` is not one of its choices", expected=", ".join(choices))
    return text


def _selection(arguments: Arguments, key: str) -> Selection:
    value = arguments.values.get(key)
    if value is None or value in (False, "false"):
        return Selection()
    if value in (True, "true"):
        return Selection(everything=True)
    return Selection(names=read_names(arguments, key))


def _only_binary(arguments: Arguments) -> tuple[str, ...]:
    value = arguments.values.get("only_binary")
    if value is None or value in (False, "false"):
        return ()
    if value in (True, "true", ":all:"):
        return (":all:",)
    return read_names(arguments, "only_binary")


def _lines(arguments: Arguments, key: str) -> Lines | None:
    """Return a text as the path of a file on the node, a list as the lines themselves."""
    value = arguments.values.get(key)
    if value is None:
        return None
    if not isinstance(value, tuple):
        path = arguments.text(key)
        if path.startswith("-") or "\n" in path:
            raise arguments.invalid(
                key, f"`{key}` is not a path", expected="a path on the node, or a list of requirements"
            )
        return Lines(path=path)
    for index, text in enumerate(arguments.secret_texts(key)):
        if not isinstance(text, Unread) and reveal(text).endswith((".txt", ".in")):
            summary = f"a list under `{key}` holds requirements, not files"
            remedy = f"write `{key}: {text}` for the file"
            raise Invalid([Diagnosis(summary=summary, at=arguments.place(key, index), remedy=remedy)])
    found = read_wanted(arguments, key)
    if not found:
        raise arguments.invalid(key, f"`{key}` is empty", expected="a path on the node, or requirements")
    text = "".join(f"{reveal(it.text)}\n" for it in found)
    secret = any(isinstance(it.text, Secret) for it in found)
    return Lines(text=Secret(text) if secret else text, count=len(found))
