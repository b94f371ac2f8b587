"""Conditions of two playbooks against each other: which belong together, and what became of what they state."""

from collections.abc import Iterable, Iterator, Sequence

from stackplan.language import schema
from stackplan.language.compare_elsewhere import Elsewhere, Place, identity
from stackplan.language.compare_fields import (
    inlined_words,
    names_one_thing,
    names_subject,
    ruling,
    says_the_same,
)
from stackplan.language.compare_filling import essence, masked_lines, shown
from stackplan.language.compare_values import Ruling, together
from stackplan.language.shape import Shape
from stackplan.model.arguments import Value
from stackplan.model.comparison import ConditionChange, Effect, FieldChange, Turn
from stackplan.model.condition import Combination, Condition, Recheck
from stackplan.model.diagnosis import Invalid
from stackplan.model.kind import ConditionKind
from stackplan.model.outcome import Phase
from stackplan.model.room import CONDITIONS

_SELDOM = (Recheck.ALWAYS, Recheck.FINAL, Recheck.NEVER)


def compare_conditions(
    phase: Phase, old: Sequence[Condition], new: Sequence[Condition], elsewhere: Elsewhere, place: Place
) -> tuple[ConditionChange, ...]:
    """Return what differs between two lists of conditions, in the order of the new one, dropped ones last.

    `place` is where the new list stands.
    """
    pairs = {id(after): before for before, after in paired(old, new)}
    kept = {id(before) for before in pairs.values()}
    found = [_changed(phase, pairs[id(after)], after) if id(after) in pairs else _added(phase, after) for after in new]
    found += [_removed(phase, it, elsewhere.ruling(it, phase, place)) for it in old if id(it) not in kept]
    return tuple(change for change in found if change is not None)


def paired(old: Sequence[Condition], new: Sequence[Condition]) -> Iterator[tuple[Condition, Condition]]:
    """Yield the conditions that belong together: those that are the same, then those of one kind most alike."""
    waiting: dict[object, list[Condition]] = {}
    for it in new:
        waiting.setdefault(identity(it), []).append(it)
    left = []
    for before in old:
        if same := waiting.get(identity(before)):
            yield before, same.pop(0)
        else:
            left.append(before)
    right = [it for it in new if any(it is other for other in waiting[identity(it)])]
    candidates = sorted(
        (-_likeness(before, after), first, second)
        for first, before in enumerate(left)
        for second, after in enumerate(right)
        if before.kind == after.kind
    )
    taken: tuple[set[int], set[int]] = (set(), set())
    for unlike, first, second in candidates:
        if unlike < 0 and first not in taken[0] and second not in taken[1]:
            taken[0].add(first)
            taken[1].add(second)
            yield left[first], right[second]


def _likeness(before: Condition, after: Condition) -> int:
    """Return how much two conditions of one kind have in common, 0 when they speak of different things."""
    if before.combination is not None:
        shared = {repr(identity(it)) for it in before.operands} & {repr(identity(it)) for it in after.operands}
        return 1 + len(shared)
    shape = shape_of(before.kind)
    old, new = before.arguments.values, after.arguments.values
    same = {key for key in {*old, *new} if essence(old.get(key)) == essence(new.get(key))}
    if any(names_one_thing(shape, key) for key in {*old, *new} - same):
        return 0
    return 1 + len(same) + 10 * sum(names_subject(shape, key) for key in same)


def _added(phase: Phase, after: Condition) -> ConditionChange:
    text = described(after)
    return ConditionChange(
        turn=Turn.ADDED, phase=phase, kind=after.kind, after=text, effect=Effect.STRONGER, at=after.at
    )


def _removed(phase: Phase, before: Condition, ruled: Ruling) -> ConditionChange:
    effect, why = ruled
    return ConditionChange(
        turn=Turn.REMOVED,
        phase=phase,
        kind=before.kind,
        before=described(before),
        effect=effect,
        why=why,
        at=before.at,
    )


def removed(
    phase: Phase, conditions: Iterable[Condition], elsewhere: Elsewhere, place: Place
) -> tuple[ConditionChange, ...]:
    """Return all conditions of a step that is gone; `place` is where it would stand now."""
    return tuple(_removed(phase, it, elsewhere.ruling(it, phase, place)) for it in conditions)


def added(phase: Phase, conditions: Iterable[Condition]) -> tuple[ConditionChange, ...]:
    """Return all conditions of a step that is new."""
    return tuple(_added(phase, it) for it in conditions)


def _changed(phase: Phase, before: Condition, after: Condition) -> ConditionChange | None:
    fields = tuple(_fields(before, after))
    if not fields:
        return None
    effect, _ = together([(field.effect, field.why) for field in fields])
    return ConditionChange(
        turn=Turn.CHANGED,
        phase=phase,
        kind=after.kind,
        before=described(before),
        after=described(after),
        effect=effect,
        fields=fields,
        at=after.at,
    )


def _fields(before: Condition, after: Condition) -> Iterator[FieldChange]:
    yield from stated_fields(before, after)
    yield from _proving(before, after)
    if before.message != after.message:
        yield FieldChange(path="message", before=_masked(before.message), after=_masked(after.message), at=after.at)


def stated_fields(before: Condition, after: Condition) -> Iterator[FieldChange]:
    """Yield what differs in what is stated: under a `not` this is the other way round."""
    yield from _arguments(before, after)
    yield from _operands(before, after)


def _proving(before: Condition, after: Condition) -> Iterator[FieldChange]:
    """Yield what differs in when it is asked."""
    yield from _patience(before, after)
    yield from _recheck(before, after)


def _arguments(before: Condition, after: Condition) -> Iterator[FieldChange]:
    shape = shape_of(after.kind)
    old, new = before.arguments.values, after.arguments.values
    words = inlined_words(shape)
    for key in (*old, *(it for it in new if it not in old)):
        was, now = old.get(key), new.get(key)
        if says_the_same(shape, key, was, now):
            continue
        effect, why = ruling(shape, key, was, now)
        if was is None and key in words and not words & {*old}:
            effect, why = Effect.NOTE, "the value need not be true any more"
        place = (after if now is not None else before).arguments.place(key)
        yield FieldChange(path=key, before=_shown(was), after=_shown(now), effect=effect, why=why, at=place)


def _operands(before: Condition, after: Condition) -> Iterator[FieldChange]:
    """Compare what is combined: under `any` one more makes the whole weaker, under `not` all is the other way round."""
    pairs = [*paired(before.operands, after.operands)]
    old, new = {id(it) for it, _ in pairs}, {id(it) for _, it in pairs}
    either = after.combination is Combination.ANY
    for it in before.operands:
        if id(it) not in old:
            ruled: Ruling = (Effect.STRONGER, None) if either else (Effect.WEAKER, "dropped")
            yield _operand(before, after, described(it), None, _turned(after, ruled))
    for it in after.operands:
        if id(it) not in new:
            ruled = (Effect.WEAKER, "is enough now") if either else (Effect.STRONGER, None)
            yield _operand(before, after, None, described(it), _turned(after, ruled))
    for first, second in pairs:
        stated = [_turned(after, _ruling_of(it)) for it in stated_fields(first, second)]
        rulings = [*stated, *(_ruling_of(it) for it in _proving(first, second))]
        if rulings or first.message != second.message:
            yield _operand(before, after, described(first), described(second), together(rulings))


def _turned(owner: Condition, ruled: Ruling) -> Ruling:
    """Return a ruling on an operand as it counts for the whole."""
    effect, why = ruled
    if owner.combination is not Combination.NOT or effect.opposite is effect:
        return ruled
    turned = effect.opposite
    return turned, (f"{why}, under `not`" if why else "asks for more under `not`") if turned is Effect.WEAKER else None


def _ruling_of(change: FieldChange) -> Ruling:
    return change.effect, f"{change.path} {change.why}" if change.why else None


def _operand(before: Condition, after: Condition, was: str | None, now: str | None, ruled: Ruling) -> FieldChange:
    effect, why = ruled
    return FieldChange(path=before.kind, before=was, after=now, effect=effect, why=why, at=after.at)


def _patience(before: Condition, after: Condition) -> Iterator[FieldChange]:
    old, new = before.within_s or 0.0, after.within_s or 0.0
    if old != new:
        longer = new > old
        effect = Effect.NOTE if longer else Effect.STRONGER
        why = "may come true later" if longer else None
        yield FieldChange(path="within", before=_seconds(old), after=_seconds(new), effect=effect, why=why, at=after.at)


def _recheck(before: Condition, after: Condition) -> Iterator[FieldChange]:
    old, new = rechecked(before), rechecked(after)
    if old is new:
        return
    more = _SELDOM.index(new) - _SELDOM.index(old)
    effect = Effect.WEAKER if more > 0 else Effect.STRONGER
    yield FieldChange(
        path="recheck",
        before=old.value,
        after=new.value,
        effect=effect,
        why="asked again less often after later steps" if more > 0 else None,
        at=after.at,
    )


def rechecked(condition: Condition) -> Recheck:
    """Return when a condition is asked again: as it says, else as its kind has it, else as its costliest operand."""
    if condition.recheck is not None:
        return condition.recheck
    if condition.combination is not None:
        return max((rechecked(it) for it in condition.operands), key=_SELDOM.index, default=Recheck.ALWAYS)
    kind = CONDITIONS.find(condition.kind)
    return kind.recheck if kind is not None and issubclass(kind, ConditionKind) else Recheck.ALWAYS


def described(condition: Condition) -> str:
    """Return what a condition states, in one line; as written where its arguments cannot be read without a node."""
    if condition.combination is not None:
        texts = [described(it) for it in condition.operands]
        if condition.combination is Combination.NOT:
            return f"not: {'; '.join(texts)}"
        return (" or " if condition.combination is Combination.ANY else " and ").join(texts)
    kind = CONDITIONS.find(condition.kind)
    text = None
    if kind is not None and issubclass(kind, ConditionKind):
        try:
            text = masked_lines(kind.read(condition.arguments).describe())
        except (Invalid, ValueError, TypeError):
            text = None
    stated = text if text is not None else f"{condition.kind}: {shown(condition.arguments.values)}"
    return f"{condition.name}: {stated}" if condition.name else stated


def shape_of(kind: str) -> Shape | None:
    """Return the schema of a kind's arguments."""
    return schema.compiler("playbook").shape("#/$defs/condition").properties.get(kind)


def _shown(value: Value) -> str | None:
    return None if value is None else shown(value)


def _masked(text: str | None) -> str | None:
    return None if text is None else masked_lines(text)


def _seconds(seconds: float) -> str:
    return f"{seconds:g}s"
