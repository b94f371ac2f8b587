"""Jinja in a sandbox whose cost is bounded: no template can hang, fill the memory or reach anything but its variables.

What may be expensive is either not there (macros, blocks, includes, most methods of texts) or counted (loops, `*`, `+`,
`~`, filters that make texts longer). Everything that goes wrong is a `BadTemplate`; the caller knows the place.
"""

import contextlib
import re
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jinja2
from jinja2 import meta, nodes, sandbox
from jinja2.exceptions import SecurityError
from jinja2.runtime import StrictUndefined, Undefined

from stackplan.model.arguments import Value

LONGEST_TEXT = 1024 * 1024
MOST_TURNS = 10_000
"""Turns of all loops of one template together."""
MOST_PARTS = 100_000
"""Parts of a value, lists within lists counted through."""
LONGEST_S = 5.0
MOST_BITS = 4096

_EXPENSIVE_BLOCKS = (
    nodes.Macro,
    nodes.CallBlock,
    nodes.FilterBlock,
    nodes.AssignBlock,
    nodes.Block,
    nodes.Extends,
    nodes.Include,
    nodes.Import,
    nodes.FromImport,
    nodes.With,
)
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


class _TooMuch(Exception):
    """A bound was passed; never leaves the module."""


@dataclass
class _Budget:
    """What one evaluation may still spend; `until` is a time of the monotonic clock."""

    turns: int
    until: float


@dataclass(frozen=True)
class Expression:
    """A template that was read: `names` are the variables that it uses; `native` if it is exactly one expression."""

    names: frozenset[str]
    native: bool
    _compiled: jinja2.Template

    def value(self, variables: Mapping[str, Any]) -> Value:
        """Return what it yields: the value itself when it is exactly one expression, else a text. Raise BadTemplate."""
        budget = _Budget(MOST_TURNS, time.monotonic() + LONGEST_S)
        context = self._compiled.new_context({**variables, _BUDGET: budget})
        with _worded_failures():
            chunks = []
            length = 0
            for chunk in self._compiled.root_render_func(context):
                chunks.append(chunk)
                length += len(chunk)
                if length > LONGEST_TEXT:
                    raise _TooMuch(f"it yields more than {LONGEST_TEXT} characters")
            if not self.native:
                return "".join(chunks)
            result = context.vars[_RESULT]
            if isinstance(result, Undefined):
                str(result)
            return _plain(result, [MOST_PARTS])

    def holds(self, variables: Mapping[str, Any]) -> bool:
        """Return whether what it yields is true. Raise BadTemplate, also for a text, which would always be true."""
        value = self.value(variables)
        if isinstance(value, str):
            if value in ("true", "false", ""):
                return value == "true"
            raise BadTemplate(
                f"it yields the text {value[:60]!r}, which is neither true nor false",
                remedy="compare it, as in `name == 'text'`",
            )
        return bool(value)


@lru_cache(maxsize=8192)
def template(text: str) -> Expression:
    """Return the template that a text is. Raise BadTemplate when it is none."""
    with _worded_syntax(text):
        parsed = _parsed(text)
        return _compiled(parsed, _only_expression(parsed))


@lru_cache(maxsize=1024)
def condition(text: str) -> Expression:
    """Return the expression of a `when`, with or without braces around it. Raise BadTemplate when it is none."""
    bare = text.strip()
    if bare.startswith("{{") and bare.endswith("}}"):
        bare = bare[2:-2]
    with _worded_syntax(text):
        parsed = _parsed("{{ " + bare + "\n}}")
        body = _only_expression(parsed)
        if body is None:
            remedy = "write an expression such as `node.labels.rack == 'a1'`"
            raise BadTemplate("this is not one Jinja expression", remedy=remedy)
        return _compiled(parsed, body)


@lru_cache(maxsize=8192)
def names(text: str) -> frozenset[str]:
    """Return the variables that a template uses. Raise BadTemplate when it cannot be read."""
    with _worded_syntax(text):
        return _used(_parsed(text))


_RESULT = "result__"
_BUDGET = "budget__"


def _parsed(text: str) -> nodes.Template:
    parsed = _ENVIRONMENT.parse(text)
    for block in parsed.find_all(_EXPENSIVE_BLOCKS):
        word = re.sub(r"(?<!^)(?=[A-Z])", " ", type(block).__name__).lower()
        raise BadTemplate(f"a template may not hold this kind of block: {word}", remedy="use variables, `if` and `for`")
    return parsed


def _syntax_summary(message: str) -> str:
    if "unexpected end of template" in message or "unexpected 'end of template'" in message:
        return "this is not a template: a brace that is opened is never closed"
    bare = message.rstrip(".").replace("'end of print statement'", "end")
    return f"this is not a template: {bare}"


def _syntax_remedy(text: str) -> str | None:
    if re.search(r"\{\{\s*\.", text):
        return "for braces that are no template write {% raw %}…{% endraw %} around them"
    return None


def _only_expression(parsed: nodes.Template) -> nodes.Expr | None:
    """Return the one expression that a template consists of, white space around it disregarded, or None."""
    found: list[nodes.Expr] = []
    for part in parsed.body:
        if not isinstance(part, nodes.Output):
            return None
        for piece in part.nodes:
            if isinstance(piece, nodes.TemplateData):
                if piece.data.strip():
                    return None
            else:
                found.append(piece)
    return found[0] if len(found) == 1 else None


def _compiled(parsed: nodes.Template, body: nodes.Expr | None) -> Expression:
    used = _used(parsed)
    if body is not None:
        parsed.body = [nodes.Assign(nodes.Name(_RESULT, "store"), body, lineno=1)]
    _count_costs(parsed)
    parsed.set_environment(_ENVIRONMENT)
    return Expression(used, body is not None, _ENVIRONMENT.from_string(parsed))


def _used(parsed: nodes.Template) -> frozenset[str]:
    return frozenset(meta.find_undeclared_variables(parsed)) - _OWN_NAMES


def _count_costs(parsed: nodes.Template) -> None:
    """Wrap what a loop goes through, what a `set` keeps and what `~` joins, so that each is counted."""
    budget = nodes.Name(_BUDGET, "load")
    for loop in list(parsed.find_all(nodes.For)):
        if loop.recursive:
            raise BadTemplate("a template may not hold a recursive loop")
        loop.iter = nodes.Filter(loop.iter, "counted__", [budget], [], None, None)
    for kept in list(parsed.find_all(nodes.Assign)):
        kept.node = nodes.Filter(kept.node, "measured__", [], [], None, None)
    _replace_joins(parsed)


def _replace_joins(node: nodes.Node) -> None:
    for name, value in list(node.iter_fields()):
        if isinstance(value, list):
            setattr(node, name, [_without_join(item) if isinstance(item, nodes.Node) else item for item in value])
        elif isinstance(value, nodes.Node):
            setattr(node, name, _without_join(value))


def _without_join(node: nodes.Node) -> nodes.Node:
    _replace_joins(node)
    if isinstance(node, nodes.Concat):
        return nodes.Filter(nodes.List(node.nodes), "join", [], [], None, None)
    return node


def _counted(values: Iterable[Any], budget: _Budget) -> Iterator[Any]:
    for value in values:
        budget.turns -= 1
        if budget.turns < 0:
            raise _TooMuch(f"its loops take more than {MOST_TURNS} turns")
        if time.monotonic() > budget.until:
            raise _TooMuch(f"it takes longer than {LONGEST_S:g} s")
        yield value


def _measured(value: Any) -> Any:
    if isinstance(value, Undefined):
        return value
    _plain(value, [MOST_PARTS]) if isinstance(value, (list, tuple, Mapping)) else None
    return value


def _plain(value: Any, left: list[int]) -> Value:
    """Return a value of Jinja's as plain data; `left` counts the parts that it may still have."""
    left[0] -= 1
    if left[0] < 0:
        raise _TooMuch(f"it yields more than {MOST_PARTS} parts")
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Undefined):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item, left) for key, item in value.items()}
    if isinstance(value, (list, tuple, Iterator, range)) or type(value).__name__ in (
        "dict_keys",
        "dict_values",
        "dict_items",
    ):
        return tuple(_plain(item, left) for item in value)
    raise BadTemplate(f"it yields no text, number, list or mapping but a {type(value).__name__}")


def shown(value: Any) -> Any:
    """Return what a value looks like inside of a text: `true` and `false` as YAML writes them."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else value


def _limited_range(*arguments: int) -> range:
    found = range(*arguments)
    if len(found) > MOST_TURNS:
        raise _TooMuch(f"a range has more than {MOST_TURNS} numbers")
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
            raise _TooMuch(f"it yields more than {LONGEST_TEXT} characters")
    return separator.join(texts)


def _replace(text: object, old: str, new: str) -> str:
    whole = str(shown(text))
    grown = len(whole) + whole.count(old) * len(new)
    if grown > LONGEST_TEXT:
        raise _TooMuch(f"it yields more than {LONGEST_TEXT} characters")
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
            raise _TooMuch("it multiplies a text or a list by too much")
    if operator == "+" and sized and sum(map(_size, sized)) > LONGEST_TEXT:
        raise _TooMuch(f"it yields more than {LONGEST_TEXT} characters")
    numbers = [it for it in (left, right) if isinstance(it, int)]
    if any(number.bit_length() > MOST_BITS for number in numbers):
        raise _TooMuch("it computes with too large a number")
    if operator == "**" and isinstance(right, int) and abs(right) > 64:
        raise _TooMuch("it raises a number to too high a power")


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


_ENVIRONMENT = _environment()
_OWN_NAMES = frozenset({"range", _BUDGET, _RESULT})


@contextlib.contextmanager
def _worded_syntax(text: str) -> Iterator[None]:
    """Turn whatever Jinja says of a template's own text into a BadTemplate."""
    try:
        yield
    except jinja2.TemplateSyntaxError as error:
        raise BadTemplate(_syntax_summary(error.message or ""), remedy=_syntax_remedy(text)) from None
    except (RecursionError, MemoryError, SyntaxError, OverflowError, ValueError) as error:
        raise BadTemplate("this template is too large or nested too deeply") from error
    except _TooMuch as error:
        # Jinja computes constants while it compiles.
        raise _worded(error) from error


@contextlib.contextmanager
def _worded_failures() -> Iterator[None]:
    """Turn whatever an evaluation raises into a BadTemplate."""
    try:
        yield
    except BadTemplate:
        raise
    except Exception as error:
        raise _worded(error) from error


def _worded(error: Exception) -> BadTemplate:
    if isinstance(error, _TooMuch):
        return BadTemplate(f"this template is too costly: {error}")
    if isinstance(error, jinja2.UndefinedError):
        return _undefined(str(error))
    if isinstance(error, SecurityError):
        return BadTemplate(f"a template may not do this: {error}")
    if isinstance(error, (RecursionError, MemoryError)):
        return BadTemplate("this template is too costly: it is nested too deeply or too large")
    if isinstance(error, TypeError) and re.search(r"\bstr\b", str(error)):
        remedy = "variables are texts; make a number of one with `| int` or `| float`"
        return BadTemplate(f"this template fails: {error}", remedy=remedy)
    return BadTemplate(f"this template fails: {str(error)[:200] or type(error).__name__}")


def _undefined(message: str) -> BadTemplate:
    if match := re.fullmatch(r"'([^']*)' is undefined", message):
        return BadTemplate(f"`{match[1]}` is not defined", name=match[1])
    if match := re.search(r"has no attribute '([^']*)'", message):
        return BadTemplate(
            f"there is no `{match[1]}` in what stands before it", remedy="where it may be missing, add `| default('')`"
        )
    return BadTemplate(f"this is not defined: {message}")
