"""Two values of a field against each other, by rules for each type of value.

A type is the name of the schema's shared definition (`version`, `size`, `matcher`, …), or a word of a matcher. A rule
says STRONGER only where whatever satisfies the new value satisfied the old one, too.
"""

import re
from collections.abc import Callable, Iterable, Mapping

from stackplan.language.compare_filling import essence, shown, written
from stackplan.language.reading import holds_template
from stackplan.language.shape import Shape
from stackplan.model.arguments import Value
from stackplan.model.comparison import Effect
from stackplan.model.matcher import Matcher
from stackplan.model.pep440 import InvalidSpecifier, InvalidVersion, SpecifierSet, Version
from stackplan.model.quantity import size_bytes
from stackplan.model.regular import regular

Ruling = tuple[Effect, str | None]
"""An effect, and why in a few words."""

Rule = Callable[[str | None, Value, Value], Ruling]
"""From what the schema says is weaker, and two values that are not the same, to the ruling."""

_NO_MORE = "what was proven is proven no more"
DIFFERENT: Ruling = (Effect.NOTE, f"asks for something else: {_NO_MORE}")
SAME: Ruling = (Effect.OTHER, "means the same")
_ORDER: Ruling = (Effect.OTHER, "in another order")
WORDS = frozenset({"equals", "contains", "matches", "version", "at_least", "at_most", "one_of"})
_RELEASE = regular(r"\d+(\.\d+)*")


def rule(name: str, shape: Shape | None, before: Value, after: Value) -> Ruling:
    """Return what it does to a statement that a value of a type is `after` where it was `before`."""
    return _RULES.get(name, _other)(None if shape is None else shape.weaker, before, after)


def together(rulings: Iterable[Ruling]) -> Ruling:
    """Return the effect of several changes at once: weaker as soon as one is, and why."""
    found = [*rulings]
    for effect in (Effect.WEAKER, Effect.NOTE):
        if loud := [why for it, why in found if it is effect]:
            return effect, "; ".join(why for why in loud if why) or None
    return (Effect.STRONGER if any(it is Effect.STRONGER for it, _ in found) else Effect.OTHER), None


def _version(_weaker: str | None, before: Value, after: Value) -> Ruling:
    """Compare specifiers by the versions that they admit, pre-releases among them."""
    try:
        old, new = _specifier(before), _specifier(after)
        wider, narrower = new.is_superset(old), old.is_superset(new)
    except (InvalidSpecifier, ValueError):
        return DIFFERENT
    if wider and narrower:
        return Effect.OTHER, "admits the same versions"
    if wider:
        return Effect.WEAKER, "admits more versions"
    if narrower:
        return Effect.STRONGER, "admits fewer versions"
    return Effect.NOTE, f"admits other versions: {_NO_MORE}"


def _specifier(value: Value) -> SpecifierSet:
    text = written(value).strip()
    return SpecifierSet(f"=={text}" if text[:1].isdigit() else text, prereleases=True)


def _size(weaker: str | None, before: Value, after: Value) -> Ruling:
    return _ordered(weaker, before, after, lambda value: float(size_bytes(written(value))))


def _integer(weaker: str | None, before: Value, after: Value) -> Ruling:
    return _ordered(weaker, before, after, _number)


def _number(value: Value) -> float:
    # "none" is how a count of nothing may be written.
    text = written(value).strip()
    return 0.0 if text == "none" else float(text)


def _ordered(weaker: str | None, before: Value, after: Value, amount: Callable[[Value], float]) -> Ruling:
    """Compare amounts. Where the schema does not tell which way is weaker, less is taken for it and more is not."""
    try:
        old, new = amount(before), amount(after)
    except ValueError:
        return DIFFERENT
    if old == new:
        return SAME
    word = "raised" if new > old else "lowered"
    if weaker == "other":
        return Effect.NOTE, f"{word}: {_NO_MORE}"
    if weaker == "higher":
        return (Effect.WEAKER if new > old else Effect.STRONGER), word
    if new < old:
        return Effect.WEAKER, word
    return (Effect.STRONGER if weaker == "lower" else Effect.NOTE), word


def _at_least(_weaker: str | None, before: Value, after: Value) -> Ruling:
    """Compare bounds as numbers and as versions, for a value may be either: 12.10 is the lower number than 12.8."""
    steps = [step for step in (_step(before, after, _as_number), _step(before, after, _as_version)) if step is not None]
    if not steps:
        return DIFFERENT
    if any(step < 0 for step in steps):
        return Effect.WEAKER, "lowered"
    return (Effect.STRONGER, "raised") if all(step > 0 for step in steps) else SAME


def _at_most(weaker: str | None, before: Value, after: Value) -> Ruling:
    effect, _ = _at_least(weaker, after, before)
    words = {Effect.WEAKER: "raised", Effect.STRONGER: "lowered"}
    return (effect, words[effect]) if effect in words else _at_least(weaker, before, after)


def _step(before: Value, after: Value, read: Callable[[str], "float | Version"]) -> int | None:
    """Return whether a bound rose (1), fell (-1) or stayed (0); None where the two cannot be read that way."""
    try:
        old, new = read(written(before)), read(written(after))
    except ValueError:
        return None
    return (new > old) - (new < old)  # type: ignore[operator]


def _as_number(text: str) -> float:
    return float(text)


def _as_version(text: str) -> Version:
    return Version(text)


def _texts(weaker: str | None, before: Value, after: Value) -> Ruling:
    """Compare lists as sets: what is no longer in one is no longer stated."""
    if isinstance(before, Mapping) or isinstance(after, Mapping):
        return DIFFERENT
    old, new = _items(before), _items(after)
    gone, come = [it for it in old if it not in new], [it for it in new if it not in old]
    if weaker == "more":
        return (Effect.WEAKER, f"{_names(come)} let pass now") if come else (Effect.STRONGER, None) if gone else _ORDER
    if gone:
        return Effect.WEAKER, f"{_names(gone)} dropped"
    if not come:
        return _ORDER
    return (Effect.STRONGER, None) if weaker == "fewer" else (Effect.NOTE, f"{_names(come)} added")


def _items(value: Value) -> list[Value]:
    return [written(it) for it in value] if isinstance(value, tuple) else [written(value)]


def _names(items: Iterable[Value]) -> str:
    return ", ".join(shown(it) for it in items)


def _text(weaker: str | None, before: Value, after: Value) -> Ruling:
    """A release that is named with fewer numbers (13.0, then 13) admits more."""
    old, new = written(before), written(after)
    if not _RELEASE.fullmatch(old) or not _RELEASE.fullmatch(new):
        return DIFFERENT
    if old.startswith(f"{new}."):
        return Effect.WEAKER, "names fewer parts of the release"
    if new.startswith(f"{old}."):
        return (Effect.STRONGER, None) if weaker == "fewer" else DIFFERENT
    if "." not in f"{old}{new}":
        # A mode, an id, a count: only what has parts is called a release.
        return DIFFERENT
    return Effect.NOTE, f"{'a lower' if Version(new) < Version(old) else 'another'} release: {_NO_MORE}"


def _flag(_weaker: str | None, _before: Value, _after: Value) -> Ruling:
    return Effect.NOTE, "states the opposite"


def _one_of(_weaker: str | None, before: Value, after: Value) -> Ruling:
    old, new = _items(before), _items(after)
    if come := [it for it in new if it not in old]:
        return Effect.WEAKER, f"{_names(come)} admitted now"
    return (Effect.STRONGER, None) if set(map(str, old)) != set(map(str, new)) else _ORDER


def _contains(_weaker: str | None, before: Value, after: Value) -> Ruling:
    old, new = written(before), written(after)
    if new in old:
        return Effect.WEAKER, "asks for less of the text"
    return (Effect.STRONGER, None) if old in new else DIFFERENT


def _other(weaker: str | None, before: Value, after: Value) -> Ruling:
    """A field whose schema is its own: compared where its schema says what is weaker, or as a list."""
    if weaker in {"lower", "higher"}:
        return _ordered(weaker, before, after, _number)
    if isinstance(before, tuple) and isinstance(after, tuple):
        return _texts(weaker, before, after)
    if (
        isinstance(before, Mapping)
        and isinstance(after, Mapping)
        and (gone := [it for it in before if it not in after])
    ):
        return Effect.WEAKER, f"{_names(gone)} dropped"
    return DIFFERENT


def _matcher(_weaker: str | None, before: Value, after: Value) -> Ruling:
    """Compare matchers word by word, and whether the new one accepts what the old one asked for by name."""
    old, new = _by_word(before), _by_word(after)
    if (sure := _accepted_by(old, new)) is not None:
        return sure
    rulings: list[Ruling] = []
    for word in (*old, *(word for word in new if word not in old)):
        was, now = old.get(word), new.get(word)
        if was is None:
            rulings.append((Effect.STRONGER, None))
        elif now is None:
            rulings.append((Effect.WEAKER, f"{word} dropped"))
        elif essence(was) != essence(now):
            effect, why = _word(word, was, now)
            rulings.append((effect, f"{word} {why}" if why else None))
    return together(rulings)


def _word(word: str, before: Value, after: Value) -> Ruling:
    if word != "one_of" and (holds_template(written(before)) or holds_template(written(after))):
        return DIFFERENT
    return rule(word, None, before, after)


def _accepted_by(old: Mapping[str, Value], new: Mapping[str, Value]) -> Ruling | None:
    """Decide where one of the two names values: the other one then accepts all of them or not."""
    if any(holds_template(written(it)) for words in (old, new) for it in words.values()):
        return None
    for named, wide, ruled in ((old, new, (Effect.WEAKER, "accepts more")), (new, old, (Effect.STRONGER, None))):
        values = _items(named["equals"]) if "equals" in named else _items(named.get("one_of", ()))
        if set(named) <= {"equals", "one_of"} and "equals" not in wide and values:
            if set(wide) == {"one_of"} and "one_of" in named and "equals" not in named:
                return None
            return ruled if all(_accepts(wide, written(it)) for it in values) else DIFFERENT
    return None


def _accepts(words: Mapping[str, Value], text: str) -> bool:
    texts = {word: written(value) for word, value in words.items() if word in WORDS and word != "one_of"}
    choices = tuple(str(it) for it in _items(words["one_of"])) if "one_of" in words else ()
    try:
        return Matcher(**texts, one_of=choices).accepts(text)
    except (re.error, RecursionError, OverflowError, InvalidSpecifier, InvalidVersion):
        return False


def _by_word(value: Value) -> Mapping[str, Value]:
    return value if isinstance(value, Mapping) else {"equals": value}


_RULES: Mapping[str, Rule] = {
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
