"""What a changed argument does to what is proven, decided by the schema of the argument; no rule knows a kind.

A change that cannot be shown to state at least as much as before is loud. So a kind that nobody thought of here is safe
by default: its schema only makes the comparison quieter. `"x-weaker"` says of a field which change states less
(`lower`, `higher`, `fewer`, `more`, `other`: no two values compare, or `never`), and `"default"` what counts where the
field is not written.
"""

import posixpath
from collections.abc import Mapping

from stackplan.language.compare_filling import essence, shown, written
from stackplan.language.compare_values import DIFFERENT, WORDS, Ruling, rule
from stackplan.language.reading import holds_template
from stackplan.language.shape import Shape
from stackplan.model.arguments import Value
from stackplan.model.comparison import Effect
from stackplan.model.quantity import duration_s
from stackplan.model.regular import regular

_SHARED = regular(r"#/\$defs/values/\$defs/(\w+)")
_STATING = frozenset({"version", "matcher"})
"""Types that ask for something by what they are: one more of them asks for more."""
_SAME_PLACE = "another name of the same place, unless a link is in the way"
_VALUES = frozenset({"size", "texts", "version", "integer", "matcher"})


def ruling(owner: Shape | None, key: str, before: Value, after: Value) -> Ruling:
    """Return what it does to a statement that its field `key` was `before` and is `after`; None is not written."""
    shape = None if owner is None else owner.properties.get(key)
    if shape is not None:
        before, after = _in_effect(shape, before), _in_effect(shape, after)
    if (asked := _asking(owner, key, before, after)) is not None:
        return asked
    if before is None or after is None:
        return _written_or_not(owner, key, before, after)
    if _is_open(after):
        return Effect.NOTE, "what it asks for depends on the node now"
    return DIFFERENT if _is_open(before) else rule(_type(owner, key), shape, before, after)


def _asking(owner: Shape | None, key: str, before: Value, after: Value) -> Ruling | None:
    """Return the ruling on a field that says how something is asked, or about what; None for what has to come of it."""
    shape, name = None if owner is None else owner.properties.get(key), _type(owner, key)
    if shape is not None and shape.weaker == "never":
        return Effect.OTHER, None
    if name == "duration":
        return _duration(before, after)
    if name == "environment":
        return Effect.NOTE, "asked in another environment now"
    # A path that need not be given asks for something: dropping it asks for less.
    optional = name == "path" and not _is_required(owner, key)
    if names_subject(owner, key) and not (optional and after is None):
        return Effect.NOTE, _SAME_PLACE if _may_be_one(before, after) else "asks about something else now"
    return None


def _may_be_one(before: Value, after: Value) -> bool:
    """Return whether two paths lead to one place, as far as can be told without a node: where no link is in the way."""
    if not isinstance(before, str) or not isinstance(after, str) or not (before + after).count("/"):
        return False
    return ".." in f"{before}/{after}".split("/") and posixpath.normpath(before) == posixpath.normpath(after)


def says_the_same(owner: Shape | None, key: str, before: Value, after: Value) -> bool:
    """Return whether a field is what it was, also where one of the two is what counts if nothing is written."""
    shape = None if owner is None else owner.properties.get(key)
    if shape is not None:
        before, after = _in_effect(shape, before), _in_effect(shape, after)
    return essence(before) == essence(after)


def _in_effect(shape: Shape, value: Value) -> Value:
    return shape.default if value is None else value


def _is_open(value: Value) -> bool:
    """Return whether only a node can tell the value; a list is compared item by item, a matcher word by word."""
    return not isinstance(value, (Mapping, tuple)) and holds_template(written(value))


def _duration(before: Value, after: Value) -> Ruling:
    try:
        if before is not None and after is not None and duration_s(written(after)) <= duration_s(written(before)):
            return Effect.OTHER, None
    except ValueError:
        return DIFFERENT
    return Effect.NOTE, "may take longer now"


def _written_or_not(owner: Shape | None, key: str, before: Value, after: Value) -> Ruling:
    shape = None if owner is None else owner.properties.get(key)
    weaker = None if shape is None else shape.weaker
    if weaker == "more":
        return (Effect.WEAKER, f"{shown(after)} let pass now") if before is None else (Effect.STRONGER, None)
    if after is None:
        return Effect.WEAKER, "dropped"
    if weaker is not None or _type(owner, key) in {*_STATING, *WORDS}:
        return Effect.STRONGER, None
    return Effect.NOTE, "new: its schema does not say that it asks for more"


def names_subject(owner: Shape | None, key: str) -> bool:
    """Return whether a field says what a statement is about, rather than what is stated of it."""
    if owner is None:
        return False
    found = type_of(owner.properties.get(key)) == "path" or any(key in names for names in owner.required_sets)
    return found or names_one_thing(owner, key)


def _is_required(owner: Shape | None, key: str) -> bool:
    return owner is not None and (key in owner.required or any(key in names for names in owner.required_sets))


def names_one_thing(owner: Shape | None, key: str) -> bool:
    """Return whether statements in which this field differs have nothing to do with each other: a package's name."""
    if owner is None or key not in owner.required:
        return False
    return type_of(owner.properties.get(key)) not in _VALUES


def inlined_words(owner: Shape | None) -> frozenset[str]:
    """Return the words of a matcher that a kind has among its own arguments; none if it has no such matcher."""
    return frozenset() if owner is None or "equals" not in owner.properties else WORDS & set(owner.properties)


def type_of(shape: Shape | None) -> str:
    """Return the name of the shared definition that a field has, or an empty one."""
    match = None if shape is None else _SHARED.fullmatch(shape.pointer)
    return match[1] if match else ""


def _type(owner: Shape | None, key: str) -> str:
    if key in inlined_words(owner):
        return key
    return type_of(None if owner is None else owner.properties.get(key))
