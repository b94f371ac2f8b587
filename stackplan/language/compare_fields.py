"""What a changed argument does to what is proven, by rules for each type of value; no rule knows a kind.

A type is the name of the schema's shared definition (`version`, `size`, `matcher`, …). A field whose numbers or lists
mean the opposite says so in its schema: `"x-weaker"` is `lower`, `higher`, `fewer`, `more` or, where no change makes a
statement weaker, `never`.
"""

import re
from collections.abc import Callable, Mapping

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from stackplan.language.compare_filling import essence, shown, written
from stackplan.language.shape import Shape
from stackplan.model.arguments import Value
from stackplan.model.comparison import Effect
from stackplan.model.matcher import Matcher
from stackplan.model.quantity import size_bytes

Ruling = tuple[Effect, str | None]
"""An effect, and why in a few words."""

_SHARED = re.compile(r"#/\$defs/values/\$defs/(\w+)")
_RELEASE = re.compile(r"\d+(\.\d+)*")
_MEANS = frozenset({"environment", "duration"})
"""Types of fields that say how something is asked, neither about what nor what has to come of it."""
_UNDECIDED: Ruling = (Effect.OTHER, None)
_WORDS = ("equals", "contains", "matches", "version", "at_least", "at_most", "one_of")


def ruling(owner: Shape | None, key: str, before: Value, after: Value) -> Ruling:
    """Return what it does to a statement that its field `key` was `before` and is `after`; None is not written."""
    shape = None if owner is None else owner.properties.get(key)
    name = _type(key, shape)
    if name in _MEANS or (shape is not None and shape.weaker == "never"):
        return _UNDECIDED
    if names_subject(owner, key):
        return Effect.NOTE, "asks about something else now"
    excepts = shape is not None and shape.weaker == "more"
    if before is None:
        return (Effect.WEAKER, f"{shown(after)} let pass now") if excepts else (Effect.STRONGER, None)
    if after is None:
        return (Effect.STRONGER, None) if excepts else (Effect.WEAKER, "dropped")
    return _RULES.get(name, _other)(shape, before, after)


def names_subject(owner: Shape | None, key: str) -> bool:
    """Return whether a field says what a statement is about, rather than what is stated of it."""
    if owner is None:
        return False
    found = type_of(owner.properties.get(key)) == "path" or any(key in names for names in owner.required_sets)
    return found or names_one_thing(owner, key)


def names_one_thing(owner: Shape | None, key: str) -> bool:
    """Return whether statements in which this field differs have nothing to do with each other: a package's name."""
    if owner is None or key not in owner.required:
        return False
    return type_of(owner.properties.get(key)) not in {"size", "texts", "version", "integer", "matcher"}


def type_of(shape: Shape | None) -> str:
    """Return the name of the shared definition that a field has, or an empty one."""
    match = None if shape is None else _SHARED.fullmatch(shape.pointer)
    return match[1] if match else ""


def _type(key: str, shape: Shape | None) -> str:
    # A kind may have a matcher's words among its own arguments.
    return key if key in _WORDS and type_of(shape) in {"text", "version", ""} else type_of(shape)


def _version(_shape: Shape | None, before: Value, after: Value) -> Ruling:
    """Compare specifiers by the versions that they admit, pre-releases among them."""
    try:
        old, new = _specifier(before), _specifier(after)
        wider, narrower = new.is_superset(old), old.is_superset(new)
    except (InvalidSpecifier, ValueError):
        return _UNDECIDED
    if wider and narrower:
        return Effect.OTHER, "admits the same versions"
    if wider:
        return Effect.WEAKER, "admits more versions"
    return (Effect.STRONGER, "admits fewer versions") if narrower else _UNDECIDED


def _specifier(value: Value) -> SpecifierSet:
    text = written(value).strip()
    return SpecifierSet(f"=={text}" if text[:1].isdigit() else text, prereleases=True)


def _size(shape: Shape | None, before: Value, after: Value) -> Ruling:
    return _ordered(shape, before, after, lambda value: float(size_bytes(written(value))))


def _integer(shape: Shape | None, before: Value, after: Value) -> Ruling:
    return _ordered(shape, before, after, _number)


def _at_most(_shape: Shape | None, before: Value, after: Value) -> Ruling:
    effect, why = _at_least(None, before, after)
    return effect.opposite, {"lowered": "lowered", "raised": "raised"}.get(why or "", why)


def _at_least(_shape: Shape | None, before: Value, after: Value) -> Ruling:
    ruled = _ordered(None, before, after, _number)
    if ruled is not _UNDECIDED:
        return ruled
    try:
        old, new = Version(written(before)), Version(written(after))
    except InvalidVersion:
        return _UNDECIDED
    if old == new:
        return _UNDECIDED
    return (Effect.WEAKER, "lowered") if new < old else (Effect.STRONGER, "raised")


def _number(value: Value) -> float:
    # "none" is how a count of nothing may be written.
    text = written(value).strip()
    return 0.0 if text == "none" else float(text)


def _ordered(shape: Shape | None, before: Value, after: Value, amount: Callable[[Value], float]) -> Ruling:
    try:
        old, new = amount(before), amount(after)
    except ValueError:
        return _UNDECIDED
    if old == new:
        return _UNDECIDED
    weaker = new > old if shape is not None and shape.weaker == "higher" else new < old
    return Effect.WEAKER if weaker else Effect.STRONGER, "raised" if new > old else "lowered"


def _texts(shape: Shape | None, before: Value, after: Value) -> Ruling:
    """Compare lists as sets: what is no longer in one is no longer stated."""
    if isinstance(before, Mapping) or isinstance(after, Mapping):
        return _UNDECIDED
    old, new = _items(before), _items(after)
    gone, come = [it for it in old if it not in new], [it for it in new if it not in old]
    if shape is not None and shape.weaker == "more":
        gone, come = come, gone
    if gone:
        what = "let pass now" if shape is not None and shape.weaker == "more" else "dropped"
        return Effect.WEAKER, f"{', '.join(shown(it) for it in gone)} {what}"
    return (Effect.STRONGER, None) if come else (Effect.OTHER, "in another order")


def _items(value: Value) -> list[Value]:
    return [written(it) for it in value] if isinstance(value, tuple) else [written(value)]


def _text(_shape: Shape | None, before: Value, after: Value) -> Ruling:
    """A release that is named with fewer numbers (13.0, then 13) admits more."""
    old, new = written(before), written(after)
    if _RELEASE.fullmatch(old) and _RELEASE.fullmatch(new):
        if old.startswith(f"{new}."):
            return Effect.WEAKER, "names fewer parts of the release"
        if new.startswith(f"{old}."):
            return Effect.STRONGER, None
    return _UNDECIDED


def _flag(_shape: Shape | None, _before: Value, _after: Value) -> Ruling:
    return Effect.OTHER, "states the opposite"


def _one_of(_shape: Shape | None, before: Value, after: Value) -> Ruling:
    effect, _ = _texts(None, after, before)
    come = [it for it in _items(after) if it not in _items(before)]
    return effect, f"{', '.join(shown(it) for it in come)} admitted now" if effect is Effect.WEAKER else None


def _contains(_shape: Shape | None, before: Value, after: Value) -> Ruling:
    old, new = written(before), written(after)
    if new in old:
        return Effect.WEAKER, "asks for less of the text"
    return (Effect.STRONGER, None) if old in new else _UNDECIDED


def _other(shape: Shape | None, before: Value, after: Value) -> Ruling:
    """A field whose schema is its own: compared as numbers where its schema says what is weaker, else undecided."""
    if shape is not None and shape.weaker in {"lower", "higher"}:
        return _ordered(shape, before, after, _number)
    if isinstance(before, tuple) and isinstance(after, tuple):
        return _texts(shape, before, after)
    return _UNDECIDED


def _matcher(_shape: Shape | None, before: Value, after: Value) -> Ruling:
    """Compare matchers word by word, and whether the new one accepts what the old one asked for by name."""
    old, new = _by_word(before), _by_word(after)
    if (sure := _accepted_by(old, new)) is not None:
        return sure
    rulings = []
    for word in (*old, *(word for word in new if word not in old)):
        was, now = old.get(word), new.get(word)
        if was is None or now is None:
            rulings.append(
                (Effect.STRONGER if was is None else Effect.WEAKER, None if was is None else f"{word} dropped")
            )
        elif essence(was) != essence(now):
            effect, why = _RULES.get(word, _other)(None, was, now)
            rulings.append((effect, f"{word} {why}" if why else None))
    return together(rulings)


def _accepted_by(old: Mapping[str, Value], new: Mapping[str, Value]) -> Ruling | None:
    """Decide where one of the two names values: the other one then accepts all of them or not."""
    for named, wide, effect, why in ((old, new, Effect.WEAKER, "accepts more"), (new, old, Effect.STRONGER, None)):
        values = [named["equals"]] if "equals" in named else named.get("one_of", ())
        if set(named) <= {"equals", "one_of"} and "equals" not in wide and isinstance(values, (list, tuple)) and values:
            if set(wide) == {"one_of"} and "one_of" in named and "equals" not in named:
                return None
            return (effect, why) if all(_accepts(wide, written(it)) for it in values) else _UNDECIDED
    return None


def _accepts(words: Mapping[str, Value], text: str) -> bool:
    texts = {word: written(value) for word, value in words.items() if word in _WORDS and word != "one_of"}
    choices = tuple(str(it) for it in _items(words["one_of"])) if "one_of" in words else ()
    try:
        return Matcher(**texts, one_of=choices).accepts(text)
    except (re.error, InvalidSpecifier):
        return False


def _by_word(value: Value) -> Mapping[str, Value]:
    return value if isinstance(value, Mapping) else {"equals": value}


def together(rulings: "list[Ruling]") -> Ruling:
    """Return the effect of several changes at once: weaker as soon as one is, and why."""
    for effect in (Effect.WEAKER, Effect.NOTE):
        if found := [why for it, why in rulings if it is effect]:
            return effect, "; ".join(why for why in found if why) or None
    effects = {effect for effect, _ in rulings}
    return (Effect.STRONGER, None) if effects == {Effect.STRONGER} else _UNDECIDED


_RULES: Mapping[str, Callable[[Shape | None, Value, Value], Ruling]] = {
    "version": _version,
    "size": _size,
    "integer": _integer,
    "texts": _texts,
    "text": _text,
    "flag": _flag,
    "matcher": _matcher,
    "contains": _contains,
    "at_least": _at_least,
    "at_most": _at_most,
    "one_of": _one_of,
}
