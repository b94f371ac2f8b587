"""What a template yields, as plain data, and what is said of one that yields nothing; knows nothing of Jinja.

Importing Jinja takes a while, and a playbook whose templates only name variables never needs it.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from stackplan.language.cost import MOST_PARTS, TooMuch
from stackplan.model.arguments import Value
from stackplan.model.regular import regular

MOST_BITS = 4096
_UNREADABLE = regular("[\\x00\\ud800-\\udfff]")
_UNDEFINED = ("Undefined", "StrictUndefined")
"""Jinja's classes for what is not there; their `str()` raises."""


class BadTemplate(Exception):
    """A template cannot be read or filled in; `name` is the variable that is not defined, where that is the reason.

    `discreet` says the same without anything that was computed: what may be shown where a secret went in.
    """

    def __init__(
        self, summary: str, *, name: str | None = None, remedy: str | None = None, discreet: str | None = None
    ) -> None:
        self.summary, self.name, self.remedy = summary, name, remedy
        self.discreet = discreet or summary
        super().__init__(summary)


def plain(value: Any, left: list[int]) -> Value:
    """Return a value of Jinja's as plain data; `left` counts the parts that it may still have."""
    left[0] -= 1
    if left[0] < 0:
        raise TooMuch(f"it yields more than {MOST_PARTS} parts")
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        raise TooMuch("it yields too large a number")
    if isinstance(value, float) and not math.isfinite(value):
        raise BadTemplate("it yields no finite number")
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return readable(value)
    if type(value).__name__ in _UNDEFINED:
        return str(value)
    if isinstance(value, Mapping):
        return {readable(str(key)): plain(item, left) for key, item in value.items()}
    if isinstance(value, (list, tuple, Iterator, range)) or type(value).__name__ in (
        "dict_keys",
        "dict_values",
        "dict_items",
    ):
        return tuple(plain(item, left) for item in value)
    raise BadTemplate(f"it yields no text, number, list or mapping but a {type(value).__name__}")


def readable(text: str) -> str:
    """Return a text that a template gave. Raise BadTemplate for one that no file, argument or terminal can take."""
    if _UNREADABLE.search(text):
        raise BadTemplate(
            "it yields a text with a character that no file or argument can take",
            remedy="remove the escape such as `\\0` or `\\ud800`",
        )
    return str(text)


def shown(value: Any) -> Any:
    """Return what a value looks like inside of a text: `true` and `false` as YAML writes them."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else value
