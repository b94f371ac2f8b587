"""The sandbox that templates run in: what they can reach, and how much they may cost.

What may be expensive is either not there (most methods of texts, `str.format`, Jinja's globals) or asks the budget of
the evaluation first: loops, operators, calls, every filter and test, and what is printed. Nothing is computed while a
template is only read.
"""

import shlex
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from jinja2 import sandbox
from jinja2.filters import make_attrgetter
from jinja2.runtime import Context, StrictUndefined, Undefined
from jinja2.utils import pass_context, pass_environment

from stackplan.language.cost import LONGEST_TEXT, MOST_PARTS, MOST_TURNS, Budget, TooMuch, weight
from stackplan.language.yielded import MOST_BITS, BadTemplate, shown

BUDGET = "budget__"
"""The name under which an evaluation's budget stands in its context."""
_MOST_STRIPPED = 100
_MOST_DIGITS = 20
_MOST_INDENT = 16
_STRIPPING = {"strip", "lstrip", "rstrip"}

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
    "select",
    "selectattr",
    "sort",
    "title",
    "unique",
    "upper",
)


def _limited_range(*arguments: int) -> range:
    found = range(*arguments)
    if len(found) > MOST_TURNS:
        raise TooMuch(f"a range has more than {MOST_TURNS} numbers")
    return found


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


def _sum(environment: Any, values: Iterable[Any], attribute: str | int | None = None, start: Any = 0) -> Any:
    """The sum of numbers; of lists it would be made by copying each again and again."""
    parts = values if attribute is None else map(make_attrgetter(environment, attribute), values)
    return sum(map(_number, parts), _number(start))


def _number(value: Any) -> Any:
    if isinstance(value, Undefined):
        str(value)
    if isinstance(value, (int, float)):
        return value
    raise BadTemplate("`sum` adds up numbers only", remedy="make numbers of texts with `| map('int') | sum`")


def _round(value: Any, precision: int = 0, method: str = "common") -> Any:
    if not isinstance(precision, int) or abs(precision) > _MOST_DIGITS:
        raise BadTemplate(f"`round` takes a whole number of digits from -{_MOST_DIGITS} to {_MOST_DIGITS}")
    return _JINJA.filters["round"](value, precision, method)


def _trim(text: object, characters: str | None = None) -> str:
    _refuse_stripping((characters,))
    return str(shown(text)).strip(characters)


def _tojson(context: Context, value: Any, indent: int | None = None) -> Any:
    if indent is not None and not (isinstance(indent, int) and 0 <= indent <= _MOST_INDENT):
        raise BadTemplate(f"`tojson` indents by 0 to {_MOST_INDENT} blanks")
    return _JINJA.filters["tojson"](context.eval_ctx, value, indent)


def _refuse_stripping(arguments: Iterable[Any]) -> None:
    """Refuse to look each character of a text up in another long text."""
    if any(isinstance(it, str) and len(it) > _MOST_STRIPPED for it in arguments):
        raise TooMuch(f"it strips more than {_MOST_STRIPPED} different characters")


def _counted(context: Context, values: Iterable[Any]) -> Iterator[Any]:
    budget_of(context).charge(values)
    return budget_of(context).counted(values)


def _measured(context: Context, value: Any) -> Any:
    budget_of(context).charge(value)
    return value


def _printed(context: Context, value: Any) -> Any:
    return shown(_measured(context, value))


def budget_of(context: Context) -> Budget:
    """Return the budget of an evaluation; what the template itself sets under that name does not count."""
    found = context.parent[BUDGET]
    assert isinstance(found, Budget)
    return found


def _bounded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a filter or test that asks the budget first, and leaves no iterator behind that would be asked later."""
    passed = getattr(getattr(function, "jinja_pass_arg", None), "name", None)

    def bounded(context: Context, value: Any, *arguments: Any, **named: Any) -> Any:
        budget_of(context).charge(value, *arguments, *named.values())
        lead = {"context": context, "eval_context": context.eval_ctx, "environment": context.environment}
        found = function(*((lead[passed],) if passed else ()), value, *arguments, **named)
        return list(found) if isinstance(found, Iterator) else found

    return pass_context(bounded)


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
        budget_of(context).charge(left, right)
        _refuse_growth(operator, left, right)
        return super().call_binop(context, operator, left, right)

    def call(self, context: Context, called: Any, /, *args: Any, **kwargs: Any) -> Any:
        budget_of(context).charge(getattr(called, "__self__", None), *args, *kwargs.values())
        if getattr(called, "__name__", "") in _STRIPPING:
            _refuse_stripping(args)
        return super().call(context, called, *args, **kwargs)


def _refuse_growth(operator: str, left: Any, right: Any) -> None:
    sized = [it for it in (left, right) if isinstance(it, (str, list, tuple))]
    if operator == "%" and isinstance(left, str):
        raise BadTemplate("a text cannot be formatted with `%` in a template", remedy="join the parts with `~`")
    if operator == "*" and sized:
        times = right if sized[0] is left else left
        if isinstance(times, int) and max(weight(sized[0]), len(sized[0])) * max(times, 0) > MOST_PARTS:
            raise TooMuch("it multiplies a text or a list by too much")
    if operator == "+" and sized and sum(map(weight, sized)) > MOST_PARTS:
        raise TooMuch("it puts together more than may be")
    numbers = [it for it in (left, right) if isinstance(it, int)]
    if any(number.bit_length() > MOST_BITS for number in numbers):
        raise TooMuch("it computes with too large a number")
    if operator == "**" and isinstance(right, int) and abs(right) > 64:
        raise TooMuch("it raises a number to too high a power")


def _environment() -> _Sandbox:
    environment = _Sandbox(
        undefined=StrictUndefined,
        # With a context, and not optimized: else constant parts would be computed while the template is compiled.
        finalize=pass_context(_printed),
        optimized=False,
        keep_trailing_newline=True,
        autoescape=False,
        # Bash's ${#array[@]} must not open a comment.
        comment_start_string="{##",
        comment_end_string="##}",
        cache_size=0,
    )
    environment.globals = {"range": _limited_range}
    filters: dict[str, Callable[..., Any]] = {name: _JINJA.filters[name] for name in _FILTERS} | _own_filters()
    environment.filters = {name: _bounded(function) for name, function in filters.items()}
    environment.filters["counted__"] = pass_context(_counted)
    environment.filters["measured__"] = pass_context(_measured)
    tests: dict[str, Any] = dict(_JINJA.tests)
    environment.tests = {name: _bounded(test) for name, test in tests.items()}
    return environment


def _own_filters() -> dict[str, Callable[..., Any]]:
    return {
        "join": _join,
        "replace": _replace,
        "quote": _quote,
        "string": _string,
        "sum": pass_environment(_sum),
        "round": _round,
        "trim": _trim,
        "tojson": pass_context(_tojson),
    }


_JINJA = sandbox.ImmutableSandboxedEnvironment()
"""Jinja's own filters and tests, for what is theirs in those of templates."""
ENVIRONMENT = _environment()
