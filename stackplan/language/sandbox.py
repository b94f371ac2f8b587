"""The sandbox that templates run in: what they can reach, and how much they may cost.

What may be expensive is either not there (most methods of texts, `str.format`, Jinja's globals) or counted (loops, `*`,
`+`, filters that make texts longer).
"""

import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jinja2 import sandbox
from jinja2.runtime import StrictUndefined, Undefined

from stackplan.model.arguments import Value

LONGEST_TEXT = 1024 * 1024
MOST_TURNS = 10_000
"""Turns of all loops of one template together."""
MOST_PARTS = 100_000
"""Parts of a value, lists within lists counted through."""
LONGEST_S = 5.0
MOST_BITS = 4096

_METHODS: dict[type, set[str]] = {
    str: {
        "upper",
        "lower",
        "strip",
        "lstrip",
        "rstrip",
        "split",
        "rsplit",
        "splitlines",
        "startswith",
        "endswith",
        "find",
        "count",
        "removeprefix",
        "removesuffix",
        "title",
        "capitalize",
        "isdigit",
        "partition",
        "rpartition",
    },
    list: {"index", "count"},
    tuple: {"index", "count"},
    dict: {"get", "items", "keys", "values"},
}
_FILTERS = (
    "abs",
    "capitalize",
    "count",
    "d",
    "default",
    "dictsort",
    "first",
    "float",
    "int",
    "items",
    "last",
    "length",
    "list",
    "lower",
    "map",
    "max",
    "min",
    "reject",
    "rejectattr",
    "reverse",
    "round",
    "select",
    "selectattr",
    "sort",
    "sum",
    "title",
    "tojson",
    "trim",
    "unique",
    "upper",
)


class BadTemplate(Exception):
    """A template cannot be read or filled in; `name` is the variable that is not defined, where that is the reason."""

    def __init__(self, summary: str, *, name: str | None = None, remedy: str | None = None) -> None:
        self.summary, self.name, self.remedy = summary, name, remedy
        super().__init__(summary)


class TooMuch(Exception):
    """A bound was passed; `expression` makes a BadTemplate of it."""


@dataclass
class Budget:
    """What one evaluation may still spend; `until` is a time of the monotonic clock."""

    turns: int
    until: float


def _counted(values: Iterable[Any], budget: Budget) -> Iterator[Any]:
    for value in values:
        budget.turns -= 1
        if budget.turns < 0:
            raise TooMuch(f"its loops take more than {MOST_TURNS} turns")
        if time.monotonic() > budget.until:
            raise TooMuch(f"it takes longer than {LONGEST_S:g} s")
        yield value


def _measured(value: Any) -> Any:
    if isinstance(value, Undefined):
        return value
    plain(value, [MOST_PARTS]) if isinstance(value, (list, tuple, Mapping)) else None
    return value


def plain(value: Any, left: list[int]) -> Value:
    """Return a value of Jinja's as plain data; `left` counts the parts that it may still have."""
    left[0] -= 1
    if left[0] < 0:
        raise TooMuch(f"it yields more than {MOST_PARTS} parts")
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Undefined):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item, left) for key, item in value.items()}
    if isinstance(value, (list, tuple, Iterator, range)) or type(value).__name__ in (
        "dict_keys",
        "dict_values",
        "dict_items",
    ):
        return tuple(plain(item, left) for item in value)
    raise BadTemplate(f"it yields no text, number, list or mapping but a {type(value).__name__}")


def shown(value: Any) -> Any:
    """Return what a value looks like inside of a text: `true` and `false` as YAML writes them."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else value


def _limited_range(*arguments: int) -> range:
    found = range(*arguments)
    if len(found) > MOST_TURNS:
        raise TooMuch(f"a range has more than {MOST_TURNS} numbers")
    return found


def _size(value: Any) -> int:
    return len(value) if isinstance(value, (str, list, tuple, dict, range)) else 1


def _join(values: Iterable[Any], separator: str = "") -> str:
    texts = []
    length = 0
    for value in values:
        if isinstance(value, Undefined):
            str(value)
        text = str(shown(value))
        texts.append(text)
        length += len(text) + len(separator)
        if length > LONGEST_TEXT:
            raise TooMuch(f"it yields more than {LONGEST_TEXT} characters")
    return separator.join(texts)


def _replace(text: object, old: str, new: str) -> str:
    whole = str(shown(text))
    grown = len(whole) + whole.count(old) * len(new)
    if grown > LONGEST_TEXT:
        raise TooMuch(f"it yields more than {LONGEST_TEXT} characters")
    return whole.replace(old, new)


def _quote(text: object) -> str:
    """The text as one word of a shell."""
    return shlex.quote(str(shown(text)))


def _string(text: object) -> str:
    return str(shown(text))


class _Sandbox(sandbox.ImmutableSandboxedEnvironment):
    intercepted_binops = frozenset({"*", "**", "%", "+", "//", "/", "-"})

    def is_safe_attribute(self, obj: Any, attr: str, _value: Any) -> bool:
        """Admit the listed methods of plain data and what a loop knows of itself; nothing else has attributes here."""
        if type(obj).__name__ == "LoopContext":
            return not attr.startswith("_")
        kind: type = type(obj)
        return attr in _METHODS.get(kind, frozenset())

    def wrap_str_format(self, value: Any) -> None:
        """Leave `str.format` out altogether: one width in it makes a text of any length."""

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        _refuse_growth(operator, left, right)
        return super().call_binop(context, operator, left, right)


def _refuse_growth(operator: str, left: Any, right: Any) -> None:
    sized = [it for it in (left, right) if isinstance(it, (str, list, tuple))]
    if operator == "%" and isinstance(left, str):
        raise BadTemplate("a text cannot be formatted with `%` in a template", remedy="join the parts with `~`")
    if operator == "*" and sized:
        times = right if sized[0] is left else left
        if isinstance(times, int) and _size(sized[0]) * max(times, 0) > MOST_PARTS:
            raise TooMuch("it multiplies a text or a list by too much")
    if operator == "+" and sized and sum(map(_size, sized)) > LONGEST_TEXT:
        raise TooMuch(f"it yields more than {LONGEST_TEXT} characters")
    numbers = [it for it in (left, right) if isinstance(it, int)]
    if any(number.bit_length() > MOST_BITS for number in numbers):
        raise TooMuch("it computes with too large a number")
    if operator == "**" and isinstance(right, int) and abs(right) > 64:
        raise TooMuch("it raises a number to too high a power")


def _environment() -> _Sandbox:
    environment = _Sandbox(
        undefined=StrictUndefined,
        finalize=shown,
        keep_trailing_newline=True,
        autoescape=False,
        # Bash's ${#array[@]} must not open a comment.
        comment_start_string="{##",
        comment_end_string="##}",
        cache_size=0,
    )
    environment.globals = {"range": _limited_range}
    environment.filters = {name: environment.filters[name] for name in _FILTERS} | _own_filters()
    return environment


def _own_filters() -> dict[str, Callable[..., Any]]:
    return {
        "join": _join,
        "replace": _replace,
        "quote": _quote,
        "string": _string,
        "counted__": _counted,
        "measured__": _measured,
    }


ENVIRONMENT = _environment()
