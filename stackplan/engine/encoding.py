"""Events and other dataclasses as plain JSON data and back, led by their types. Pure; imports model only."""

import enum
import json
import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from stackplan.model import event as events
from stackplan.model.event import Event

T = TypeVar("T")


class Malformed(ValueError):
    """The data does not have the form of the type that it should be."""


_WORDS: Mapping[type, str] = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
_SHOWN = 80
_FEW = 4
_EVENTS: Mapping[str, type] = {kind.__name__: kind for kind in get_args(events.Event)}


def encode(event: Event) -> dict[str, object]:
    """Return the event as JSON data, its kind under `event`."""
    encoded = _encode(event)
    assert isinstance(encoded, dict)
    return {"event": type(event).__name__, **encoded}


def decode(data: object) -> Event | None:
    """Return the event that `data` encodes, or None for a kind that a later version may have added.

    Keys that are not known are passed over. Raise Malformed for what is no event at all.
    """
    if not isinstance(data, dict) or not isinstance(data.get("event"), str):
        raise Malformed("not an event: an object with the key `event` is expected")
    kind = _EVENTS.get(data["event"])
    if kind is None:
        return None
    decoded: Event = _decode(data, kind)
    return decoded


def plain(value: object) -> object:
    """Return a dataclass, and whatever it is made of, as JSON data."""
    return _encode(value)


def typed(data: object, kind: type[T]) -> T:
    """Return JSON data as the dataclass `kind`; keys that are not known are passed over. Raise Malformed."""
    found: T = _decode(data, kind)
    return found


def _encode(value: object) -> object:
    if isinstance(value, enum.Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _encode(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _encode(item) for key, item in value.items()}
    return value


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _decode(value: object, kind: Any) -> Any:
    """Return `value` as the type `kind`. Raise Malformed where it does not fit."""
    origin = get_origin(kind)
    if kind is object:
        return value
    if origin in (Union, types.UnionType):
        return _decode_optional(value, get_args(kind))
    if origin is not None:
        return _decode_container(value, origin, get_args(kind))
    if is_dataclass(kind):
        return _decode_dataclass(value, kind)
    if issubclass(kind, enum.Enum):
        return _decode_enumeration(value, kind)
    return _decode_scalar(value, kind)


def _decode_enumeration(value: object, kind: type[enum.Enum]) -> enum.Enum:
    try:
        return kind(value)
    except ValueError as error:
        raise Malformed(f"{_shown(value)} is none of {', '.join(str(it.value) for it in kind)}") from error


def _decode_scalar(value: object, kind: type) -> object:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError as error:
            raise Malformed("a number in it is too large") from error
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise Malformed(f"{_WORDS.get(kind, kind.__name__)} is expected, not {_shown(value)}")
    return value


def _decode_container(value: object, origin: type, kinds: tuple[Any, ...]) -> Any:
    """Decode a tuple of one kind, or a mapping from texts to one kind."""
    if origin is tuple:
        if not isinstance(value, list):
            raise Malformed(f"a list is expected, not {_shown(value)}")
        return tuple(_decode(item, kinds[0]) for item in value)
    if not isinstance(value, dict):
        raise Malformed(f"an object is expected, not {_shown(value)}")
    return {key: _decode(item, kinds[1]) for key, item in value.items()}


def _decode_optional(value: object, kinds: tuple[Any, ...]) -> Any:
    if value is None and type(None) in kinds:
        return None
    (kind,) = (kind for kind in kinds if kind is not type(None))
    return _decode(value, kind)


def _decode_dataclass(value: object, kind: Any) -> Any:
    if not isinstance(value, dict):
        raise Malformed(f"an object is expected, not {_shown(value)}")
    hints = _hints(kind)
    known = {field.name: _decode(value[field.name], hints[field.name]) for field in fields(kind) if field.name in value}
    if lacking := [it.name for it in fields(kind) if it.name not in known and _is_required(it)]:
        raise Malformed(f"`{lacking[0]}` is missing in an object with {_keys(value)}")
    return kind(**known)


def _is_required(field: "Field[Any]") -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _keys(value: dict[str, object]) -> str:
    return ", ".join(f"`{key[:_SHOWN]}`" for key in [*value][:_FEW]) or "nothing in it"


def _shown(value: object) -> str:
    """Return a value as JSON has it, of a long one the beginning."""
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
