"""The choke point: every event passes here before it is kept, told or shown."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar, cast

from stackplan.model.event import RunStarted
from stackplan.model.report import Report
from stackplan.model.secret import Redactor

T = TypeVar("T")

# What programs go by: names, identities, times and digests. None of it comes from a template, so no secret can be in
# it, and a short secret must not make two nodes one.
_STRUCTURE = frozenset(
    {"node", "nodes", "step", "steps", "id", "run", "stopped_at", "wave", "kind", "code", "path", "sha256", "revision"}
    | {"time", "started", "ended"}
)


def redacted(value: T, redactor: Redactor) -> T:
    """Return `value`, a dataclass of model, with every text in it redacted; what programs go by stays."""
    return cast("T", _redacted(value, redactor))


def _redacted_field(owner: object, name: str, value: object, redactor: Redactor) -> object:
    names_alone = isinstance(value, str) or (isinstance(value, tuple) and all(isinstance(it, str) for it in value))
    if names_alone and (name in _STRUCTURE or (name == "command" and isinstance(owner, (Report, RunStarted)))):
        return value
    return _redacted(value, redactor)


def _redacted(value: object, redactor: Redactor) -> object:
    if isinstance(value, str):
        return redactor.text(value)
    if isinstance(value, tuple):
        return tuple(_redacted(item, redactor) for item in value)
    if isinstance(value, Mapping):
        return {redactor.text(str(key)): _redacted(item, redactor) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        changed = {
            field.name: after
            for field in fields(value)
            if field.init
            and (after := _redacted_field(value, field.name, before := getattr(value, field.name), redactor)) != before
        }
        return replace(value, **changed) if changed else value
    return value
