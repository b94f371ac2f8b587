"""The choke point: every event passes here before it is kept, told or shown."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar, cast

from stackplan.model.secret import Redactor

T = TypeVar("T")


def redacted(value: T, redactor: Redactor) -> T:
    """Return `value`, a dataclass of model, with every text in it redacted; names of enumerations stay."""
    return cast("T", _redacted(value, redactor))


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
            if field.init and (after := _redacted(before := getattr(value, field.name), redactor)) != before
        }
        return replace(value, **changed) if changed else value
    return value
