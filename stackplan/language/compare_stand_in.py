"""Arguments that only a node fills in, and that a change leaves as they are: something is put in their place.

What another argument does to what an action proves can then be told, which would otherwise depend on how its neighbours
are written.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from stackplan.language.compare_fields import type_of
from stackplan.language.compare_filling import essence
from stackplan.language.reading import holds_template
from stackplan.language.shape import Shape
from stackplan.model.arguments import Arguments, Value
from stackplan.model.regular import regular

_TEMPLATE = regular(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_PLACE = "/stand-in"
_WORD = "1"
"""Fits where a version, a number or a name is asked for."""


def stood_in(old: Arguments, new: Arguments, shape: Shape | None) -> Iterator[tuple[Arguments, Arguments]]:
    """Yield both as they are, then with stand-ins for what is the same template in both, then without what of it need
    not be given.
    """
    yield old, new
    shared = [key for key, value in old.values.items() if _is_open(value) and _same(value, new.values.get(key))]
    if not shared:
        return
    for change in (_stand_in, _left_out):
        yield _changed(old, shared, shape, change), _changed(new, shared, shape, change)


def _same(one: Value, other: Value) -> bool:
    return essence(one) == essence(other)


def _is_open(value: Value) -> bool:
    if isinstance(value, tuple):
        return any(_is_open(item) for item in value)
    return isinstance(value, str) and holds_template(value)


_Change = Callable[[Shape | None, str, Value], Value]


def _changed(arguments: Arguments, keys: list[str], shape: Shape | None, change: _Change) -> Arguments:
    values = {key: change(shape, key, value) if key in keys else value for key, value in arguments.values.items()}
    return replace(arguments, values={key: value for key, value in values.items() if value is not None})


def _stand_in(shape: Shape | None, key: str, value: Value) -> Value:
    if isinstance(value, tuple):
        return tuple(_stand_in(shape, key, item) for item in value)
    if not isinstance(value, str) or not holds_template(value):
        return value
    is_path = type_of(None if shape is None else shape.properties.get(key)) == "path"
    # What begins a path makes it a whole one.
    text = _TEMPLATE.sub(_PLACE, value, count=1) if is_path and value.startswith("{") else value
    return _TEMPLATE.sub(_WORD, text)


def _left_out(shape: Shape | None, key: str, value: Value) -> Value:
    needed = shape is not None and (key in shape.required or any(key in names for names in shape.required_sets))
    return _stand_in(shape, key, value) if needed else None
