"""A saved plan as a value, and its form as text (schemas/plan.v1.json). Pure; nothing in it is secret.

It holds the files that the playbook was read from, so that what was looked at is what runs, whatever has become of the
working tree; and for each node how it is reached, which variables won, and what was concluded.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields
from typing import cast

from stackplan.engine.conclusion import Conclusion
from stackplan.engine.encoding import Malformed, plain, typed
from stackplan.engine.json_text import BYTE_ORDER_MARK, fault, format_of, parse
from stackplan.model.arguments import Value
from stackplan.model.frozen import dataclass
from stackplan.model.location import Location
from stackplan.model.node import Node, NodeName, Transport
from stackplan.model.playbook import SecretSource, Variable
from stackplan.model.regular import regular
from stackplan.model.report import PlaybookIdentity

FORMAT = "stackplan.plan/1"
_FAMILY = regular(r'\ufeff?\s*\{\s*"format"\s*:\s*"stackplan\.plan/')


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """When, by whom and where the plan was made; for people."""

    time: str
    operator: str
    host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file that was read: its path as people name it, the one that it really had, its digest and its text."""

    path: str
    resolved: str
    sha256: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """All files of the playbook. `folder` is the working folder and `root` the project's; nothing is written there."""

    folder: str
    root: str
    files: tuple[SourceFile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which steps were selected: `only` those of `--step`, or `first` and what follows; all when neither is given."""

    only: tuple[str, ...] = ()
    first: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Where a secret is read from when the plan is applied: exactly one of the three."""

    env: str | None = None
    file: str | None = None
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedVariable:
    """The variable that won: its value as written, or the `secret`'s place; `origin` says who set it.

    `resolved` is what its templates came to, for people; None where that is what was written, or nobody needed it.
    """

    at: Location
    origin: str
    value: object = None
    secret: Reading | None = None
    resolved: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """A node and how it is reached: an entry of the inventory, its variables apart."""

    name: str
    host: str | None = None
    port: int | None = None
    user: str | None = None
    identity_file: str | None = None
    known_hosts: str | None = None
    jump: str | None = None
    transport: Transport = Transport.SSH
    command: tuple[str, ...] = ()
    become: bool = False
    python: str | None = None
    labels: Mapping[str, str]
    groups: tuple[str, ...] = ()
    at: Location | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedNode:
    node: Reached
    variables: Mapping[str, SavedVariable]
    plan: Conclusion


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedPlan:
    """A plan as it was made; `stackplan` is the version that made it."""

    stackplan: str
    made: Making
    playbook: PlaybookIdentity
    sources: Sources
    selection: Selection
    nodes: tuple[PlannedNode, ...]


def saved_variable(variable: Variable, resolved: Value) -> SavedVariable:
    """Return a variable for a plan; `resolved` is its value on the node, None where that was not needed."""
    if isinstance(variable.value, SecretSource):
        found = variable.value
        secret = Reading(env=found.env, file=found.file, command=found.command)
        return SavedVariable(at=variable.at, origin=variable.origin, secret=secret)
    value, told = _written(variable.value), _written(resolved)
    return SavedVariable(at=variable.at, origin=variable.origin, value=value, resolved=told if told != value else None)


def variable_of(name: str, saved: SavedVariable) -> Variable:
    """Return the variable that was saved. Its secret is not read yet."""
    if saved.secret is not None:
        source = SecretSource(saved.at, saved.secret.env, saved.secret.file, saved.secret.command)
        return Variable(name, source, saved.at, saved.origin)
    return Variable(name, _read(saved.value), saved.at, saved.origin)


def reached(node: Node) -> Reached:
    """Return the entry of a node for a plan."""
    return Reached(**{field.name: getattr(node, field.name) for field in fields(Reached)})


def node_of(saved: PlannedNode) -> Node:
    """Return the node that was saved, as the inventory had it then."""
    entry = {field.name: getattr(saved.node, field.name) for field in fields(Reached)}
    variables = {name: variable_of(name, it) for name, it in saved.variables.items()}
    return Node(**{**entry, "name": NodeName(saved.node.name), "variables": variables})


def _written(value: Value) -> object:
    """Return a value as JSON data; a secret, or what was made with one, is `***`."""
    if isinstance(value, Mapping):
        return {key: _written(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_written(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)


def _read(value: object) -> Value:
    if isinstance(value, dict):
        return {str(key): _read(item) for key, item in value.items()}
    if isinstance(value, list):
        return tuple(_read(item) for item in value)
    return cast("Value", value)


def is_plan(text: str) -> bool:
    """Return whether a text is a saved plan, of whatever version, or begins as one that was cut off."""
    return bool(_FAMILY.match(text)) or str(format_of(text)).startswith("stackplan.plan/")


def sha256_text(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def encode(plan: SavedPlan) -> str:
    """Return the text of a plan; what it is comes first, so that a plan that was cut off is known for one."""
    content = plain(plan)
    assert isinstance(content, dict)
    document = {"format": FORMAT, "sha256": _digest(content), **content}
    return json.dumps(document, indent=1) + "\n"


def decode(text: str) -> SavedPlan:
    """Return the plan of a text. Raise Malformed, in one sentence, for one that is cut off, changed, or none."""
    try:
        document = parse(text.removeprefix(BYTE_ORDER_MARK))
    except (ValueError, RecursionError) as error:
        raise Malformed(fault(error)) from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        found = document.get("format") if isinstance(document, dict) else type(document).__name__
        raise Malformed(f"its format is {found}, and this version of stackplan reads {FORMAT}")
    content = {key: value for key, value in document.items() if key not in ("format", "sha256")}
    _check_files(content)
    if document.get("sha256") != _digest(content):
        raise Malformed("it was changed after it was written: its digest is another one")
    plan = typed(content, SavedPlan)
    _check(plan)
    return plan


def _digest(content: Mapping[str, object]) -> str:
    return sha256_text(json.dumps(content, sort_keys=True, separators=(",", ":")))


def _check_files(content: Mapping[str, object]) -> None:
    """Raise Malformed for the first file of the playbook whose text is not that of its digest."""
    sources = content.get("sources")
    files = sources.get("files") if isinstance(sources, dict) else None
    for file in files if isinstance(files, list) else ():
        if isinstance(file, dict) and sha256_text(str(file.get("text"))) != file.get("sha256"):
            raise Malformed(f"the text of {file.get('path')} in it was changed after it was written")


def _check(plan: SavedPlan) -> None:
    """Raise Malformed where parts of a plan do not fit together."""
    if not plan.nodes:
        raise Malformed("it has no nodes")
    for planned in plan.nodes:
        conclusion = planned.plan
        acting = [None, *(step.id for step in conclusion.steps if step.outcome.value != "skipped")]
        if [part.step for part in conclusion.basis.parts] != acting:
            raise Malformed(f"what it rests on at {planned.node.name} is not what its steps need")
        used = {name for part in conclusion.basis.parts for name in part.states if name is not None}
        if missing := used - set(conclusion.basis.states):
            raise Malformed(f"the state {min(missing)} of {planned.node.name} is missing in it")
