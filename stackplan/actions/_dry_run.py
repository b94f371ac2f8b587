"""The question for an installer's dry run, and its answer, as the query `dry_run` has them. Pure."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from stackplan.actions import _pip, _uv
from stackplan.actions._installer_facts import InstallerFacts
from stackplan.actions._wishes import Installer, Wishes
from stackplan.model.arguments import Value
from stackplan.model.facts import Known, Plain, Query
from stackplan.model.frozen import dataclass
from stackplan.model.same import Same
from stackplan.model.secret import Secret

_INSTALLERS = ("UV_", "PIP_", "SSL_", "NETRC", "GIT_", "KEYRING")
SHADOW = "{shadow}"
"""Stands in a command line for the folder that the node program makes in place of the environment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The installer would not do it; `stage` is make (the environment) or install."""

    stage: str
    reason: str
    output: str
    exit_code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """What the installer would do. `after` None: only taken away. `metadata`, by canonical name, is what wheels say."""

    refusal: Refusal | None
    after: Mapping[str, str | None]
    metadata: Mapping[str, Mapping[str, Plain]]
    made: Mapping[str, Plain] | None
    findings: tuple["Finding", ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """What the index at place `index` of the step's list does when it is asked for `name`; None: for any of them.

    `silent`: it did not answer in time.
    """

    name: str | None
    index: int
    why: str
    silent: bool


def dry_run_query(
    wishes: Wishes, node: InstallerFacts, installer: Installer, carried: Mapping[str, Value] | None
) -> Query | None:
    """Return the question what the action would do, or None where the packages that are there tell it by themselves.

    `carried` is what earlier steps are predicted to leave in the environment.
    """
    shadow = replace(node, venv=SHADOW)
    making = node.kind in ("missing", "empty")
    if not making and not wishes.installs:
        return None
    install: dict[str, Value] | None = None
    locate: dict[str, Value] | None = None
    if installer is Installer.UV:
        python = wishes.create.python if wishes.create is not None else None
        make = _uv.create(wishes, shadow, python).plain() if making else None
        if wishes.installs:
            install, locate = _uv.install(wishes, shadow).plain(), _uv.locate(wishes, shadow).plain()
    else:
        make = _pip.create(wishes, shadow).plain() if making else None
        if wishes.installs:
            install = _pip_in_shadow(_pip.install(wishes, shadow).plain())
    arguments: dict[str, Value] = {
        "installer": installer.value,
        "venv": node.venv,
        "make": make,
        "install": install,
        "locate": locate,
        "remove": () if making else wishes.remove,
        "places": _places(wishes, node),
        "indexes": tuple(it.text for it in wishes.indexes),
        "names": _indexed(wishes),
        "carried": carried,
    }
    if environment := _environment(wishes):
        arguments["step_environment"] = environment
    return Query("dry_run", arguments)


def read_dry_run(answer: Known) -> DryRun:
    """Return what an answer tells; `after` and `metadata` are the very same for the very same parts of an answer."""
    value = _mapping(answer.value)
    refused = value.get("refused")
    made = value.get("made")
    return DryRun(
        refusal=None if refused is None else _refusal(_mapping(refused)),
        after=_after(Same(_rows(value.get("changes")))),
        metadata=_metadata(Same(_mapping(value.get("metadata")))),
        made=None if made is None else _mapping(made),
        findings=tuple(
            Finding(_optional(row["name"]), int(str(row["index"])), str(row["why"]), row.get("silent") is True)
            for row in map(_mapping, _rows(value.get("index_findings")))
        ),
    )


def _pip_in_shadow(invocation: dict[str, Value]) -> dict[str, Value]:
    """Return the same with pip's own program in place of `-m pip`: a shadow holds no packages, pip neither."""
    argv = invocation["argv"]
    assert isinstance(argv, tuple)
    assert argv[1:3] == ("-m", "pip")
    return {**invocation, "argv": (argv[0], "{pip}", *argv[3:])}


def _environment(wishes: Wishes) -> dict[str, Value]:
    """Return what of the step's environment the dry run has to have.

    A secret goes along only where an installer reads it: a question with a secret in it is not recorded, and a token
    of a program to come must not cost an offline plan its dry runs.
    """
    return {
        name: value
        for name, value in wishes.environment.items()
        if isinstance(value, str) or name.upper().startswith(_INSTALLERS) or name.upper().endswith("_PROXY")
    }


def _indexed(wishes: Wishes) -> tuple[str, ...]:
    """Return the names that an index has to offer: not those that come from an address of their own."""
    found = [it.name for it in wishes.wanted if it.requirement is not None and it.requirement.url is None]
    return tuple(dict.fromkeys(name for name in found if name is not None))


def _places(wishes: Wishes, node: InstallerFacts) -> tuple[Value, ...]:
    """Return the addresses and paths that are named themselves."""
    found: list[Value] = []
    for it in wishes.wanted:
        requirement = it.requirement
        if requirement is None:
            found.append(node.expand(it.text) if isinstance(it.text, str) else it.text)
        elif requirement.url is not None:
            found.append(requirement.url if isinstance(it.text, str) else Secret(requirement.url))
    return tuple(found)


def _refusal(value: Mapping[str, Plain]) -> Refusal:
    return Refusal(
        stage=str(value["stage"]),
        reason=str(value["reason"]),
        output=str(value["output"]),
        exit_code=int(str(value["exit_code"])),
    )


@lru_cache(maxsize=64)
def _after(changes: Same[list[Plain]]) -> Mapping[str, str | None]:
    rows = [_mapping(row) for row in changes.it]
    return {str(row["name"]): _optional(row["after"]) for row in rows}


@lru_cache(maxsize=64)
def _metadata(told: Same[dict[str, Plain]]) -> Mapping[str, Mapping[str, Plain]]:
    return {name: _mapping(about) for name, about in told.it.items()}


def _mapping(value: Plain) -> dict[str, Plain]:
    assert isinstance(value, dict)
    return value


def _rows(value: Plain) -> list[Plain]:
    assert isinstance(value, list)
    return value


def _optional(value: Plain) -> str | None:
    return None if value is None else str(value)
