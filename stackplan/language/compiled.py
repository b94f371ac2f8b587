"""Jinja expressions and templates, compiled once and evaluated with bounded cost.

Blocks that may be expensive (macros, includes, recursive loops) are refused; what loops go through, what `set` keeps
and what `~` joins is wrapped so that the sandbox can count it. Everything that goes wrong is a `BadTemplate`.
Imported only for a template that does more than name variables (`language.expression`): Jinja takes a while to import.
"""

import contextlib
import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias, cast

import jinja2
from jinja2 import meta, nodes
from jinja2.exceptions import SecurityError
from jinja2.runtime import Undefined

from stackplan.language.cost import LONGEST_TEXT, MOST_PARTS, Budget, TooMuch
from stackplan.language.sandbox import BUDGET, ENVIRONMENT
from stackplan.language.yielded import BadTemplate, plain, readable
from stackplan.model.arguments import Value
from stackplan.model.frozen import dataclass
from stackplan.model.secret import masked

Evaluate: TypeAlias = Callable[[Mapping[str, Any]], Value]

MOST_TOKENS = 20_000
"""Words and signs within the braces of one template: a million of them take half a minute to compile."""
_RESULT = "result__"
_OWN_NAMES = frozenset({"range", BUDGET, _RESULT})
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
_BINDING = (nodes.For, nodes.Assign)
_COSTLY = (nodes.For, nodes.Assign, nodes.Compare, nodes.Getitem)


@dataclass(frozen=True)
class Compiled:
    """What was compiled: the names that it uses, whether it is exactly one expression, and what it yields."""

    names: frozenset[str]
    native: bool
    evaluate: Evaluate


def template(text: str) -> Compiled:
    """Return the template that a text is. Raise BadTemplate when it is none."""
    with _worded_syntax(text):
        parsed = _parsed(text)
        around = (text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :])
        return _compiled(parsed, _only_expression(parsed), around)


def condition(text: str, bare: str) -> Compiled:
    """Return the expression of a `when`, which is `bare` without its braces. Raise BadTemplate when it is none."""
    with _worded_syntax(text):
        parsed = _parsed("{{ " + bare + "\n}}")
        body = _only_expression(parsed)
        if body is None:
            remedy = "write an expression such as `node.labels.rack == 'a1'`"
            raise BadTemplate("this is not one Jinja expression", remedy=remedy)
        return _compiled(parsed, body)


def names(text: str) -> frozenset[str]:
    """Return the variables that a template uses. Raise BadTemplate when it cannot be read."""
    with _worded_syntax(text):
        return _used(_parsed(text))


def _parsed(text: str) -> nodes.Template:
    if len(text) > MOST_TOKENS:
        signs = (kind for _, kind, _ in ENVIRONMENT.lex(text) if kind not in ("data", "whitespace"))
        if next(itertools.islice(signs, MOST_TOKENS, None), None) is not None:
            raise BadTemplate(f"this template is too large: more than {MOST_TOKENS} words and signs are in its braces")
    parsed = ENVIRONMENT.parse(text)
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


def _compiled(parsed: nodes.Template, body: nodes.Expr | None, around: tuple[str, str] = ("", "")) -> Compiled:
    used = _used(parsed)
    if body is not None:
        parsed.body = [nodes.Assign(nodes.Name(_RESULT, "store"), body, lineno=1)]
    _count_costs(parsed)
    parsed.set_environment(ENVIRONMENT)
    compiled = ENVIRONMENT.from_string(parsed)
    if body is None:
        return Compiled(used, native=False, evaluate=partial(_text, compiled))
    return Compiled(used, native=True, evaluate=partial(_result, compiled, around))


def _text(compiled: jinja2.Template, variables: Mapping[str, Any]) -> Value:
    chunks = []
    length = 0
    for chunk in compiled.root_render_func(compiled.new_context({**variables, BUDGET: Budget()})):
        chunks.append(chunk)
        length += len(chunk)
        if length > LONGEST_TEXT:
            raise TooMuch(f"it yields more than {LONGEST_TEXT} characters")
    return readable("".join(chunks))


def _result(compiled: jinja2.Template, around: tuple[str, str], variables: Mapping[str, Any]) -> Value:
    context = compiled.new_context({**variables, BUDGET: Budget()})
    for _ in compiled.root_render_func(context):
        pass
    result = context.vars[_RESULT]
    if isinstance(result, Undefined):
        str(result)
    value = plain(result, [MOST_PARTS])
    # White space around a list or a number means nothing; a text has it as a part (a file's last newline).
    return f"{around[0]}{value}{around[1]}" if isinstance(value, str) else value


def _used(parsed: nodes.Template) -> frozenset[str]:
    if next(parsed.find_all(_BINDING), None) is None:
        # Without names of its own every name in it is one of a variable; Jinja's way of telling takes a compilation.
        return frozenset(it.name for it in parsed.find_all(nodes.Name)) - _OWN_NAMES
    return frozenset(meta.find_undeclared_variables(parsed)) - _OWN_NAMES


def _count_costs(parsed: nodes.Template) -> None:
    """Have what costs more than a moment ask the budget: loops, what `set` keeps, comparisons, slices, `~`."""
    for found in list(parsed.find_all(_COSTLY)):
        if isinstance(found, nodes.For):
            if found.recursive:
                raise BadTemplate("a template may not hold a recursive loop")
            found.iter = _filtered(found.iter, "counted__")
        elif isinstance(found, nodes.Assign):
            found.node = _filtered(found.node, "measured__")
        elif isinstance(found, nodes.Compare):
            found.expr = _filtered(found.expr, "measured__")
            for operand in found.ops:
                operand.expr = _filtered(operand.expr, "measured__")
        elif isinstance(found, nodes.Getitem) and isinstance(found.arg, nodes.Slice):
            found.node = _filtered(found.node, "measured__")
    _replace_joins(parsed)


def _filtered(node: nodes.Node, name: str) -> nodes.Filter:
    return nodes.Filter(cast("nodes.Expr", node), name, [], [], None, None)


def _replace_joins(node: nodes.Node) -> None:
    for name, value in list(node.iter_fields()):
        if isinstance(value, list):
            setattr(node, name, [_without_join(item) if isinstance(item, nodes.Node) else item for item in value])
        elif isinstance(value, nodes.Node):
            setattr(node, name, _without_join(value))


def _without_join(node: nodes.Node) -> nodes.Node:
    _replace_joins(node)
    if isinstance(node, nodes.Concat):
        return _filtered(nodes.List(node.nodes), "join")
    return node


@contextlib.contextmanager
def _worded_syntax(text: str) -> Iterator[None]:
    """Turn whatever Jinja says of a template's own text into a BadTemplate."""
    try:
        yield
    except jinja2.TemplateSyntaxError as error:
        raise BadTemplate(_syntax_summary(error.message or ""), remedy=_syntax_remedy(text)) from None
    except (RecursionError, MemoryError, SyntaxError, OverflowError, ValueError) as error:
        raise BadTemplate("this template is too large or nested too deeply") from error
    except BadTemplate:
        raise
    except Exception as error:
        # Whatever else Jinja's compiler stumbles over is a fault of the template, too.
        raise BadTemplate(f"this template cannot be read: {type(error).__name__}") from error


def worded(error: Exception) -> BadTemplate:
    """Return what is said of whatever an evaluation raised."""
    if isinstance(error, TooMuch):
        return BadTemplate(f"this template is too costly: {error}")
    if isinstance(error, jinja2.UndefinedError):
        return _undefined(str(error))
    if isinstance(error, SecurityError):
        return BadTemplate(f"a template may not do this: {error}", discreet="a template may not do this")
    if isinstance(error, (RecursionError, MemoryError)):
        return BadTemplate("this template is too costly: it is nested too deeply or too large")
    discreet = f"this template fails ({type(error).__name__}); what it says is not shown, for a secret went in"
    remedy = None
    if isinstance(error, TypeError) and re.search(r"\bstr\b", str(error)):
        remedy = "variables are texts; make a number of one with `| int` or `| float`"
    said = masked(str(error))[:200] or type(error).__name__
    return BadTemplate(f"this template fails: {said}", remedy=remedy, discreet=discreet)


def _undefined(message: str) -> BadTemplate:
    if match := re.fullmatch(r"'([^']*)' is undefined", message):
        return BadTemplate(f"`{match[1]}` is not defined", name=match[1])
    remedy = "where it may be missing, add `| default('')`"
    if match := re.search(r"has no attribute '([^']*)'", message):
        discreet = "what is asked for here is not in what stands before it"
        return BadTemplate(f"there is no `{match[1]}` in what stands before it", remedy=remedy, discreet=discreet)
    return BadTemplate(f"this is not defined: {message}", discreet="something here is not defined")
