"""The actions of two steps against each other: their arguments, and what becomes of what they prove by themselves."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from stackplan.language import schema
from stackplan.language.compare_conditions import described, paired, shape_of, stated_fields
from stackplan.language.compare_elsewhere import Elsewhere, Place
from stackplan.language.compare_fields import names_subject, type_of
from stackplan.language.compare_fields import ruling as field_ruling
from stackplan.language.compare_filling import essence, shown
from stackplan.language.compare_implied import implied, implies_anything, read_action, restarts_node
from stackplan.language.compare_order import job_of
from stackplan.language.compare_stand_in import stood_in
from stackplan.language.compare_values import Ruling, together
from stackplan.language.shape import Shape
from stackplan.model.arguments import Arguments, Value
from stackplan.model.comparison import Effect, FieldChange
from stackplan.model.condition import Condition
from stackplan.model.frozen import dataclass
from stackplan.model.outcome import Phase
from stackplan.model.playbook import Action, Step

_LOUD = (Effect.WEAKER, Effect.NOTE)
_NEITHER: Ruling = (Effect.OTHER, None)
_DIGEST = "sha256"


@dataclass(frozen=True, slots=True)
class Proven:
    """What is proven besides the action that is looked at: by the postconditions of its step, and in other places."""

    postconditions: Sequence[Condition]
    elsewhere: Elsewhere
    place: Place


def action_fields(old: Step, new: Step, proven: Proven) -> Iterator[FieldChange]:
    """Yield what differs in the action of a step, and what that does to what the action proves by itself."""
    if old.action.kind != new.action.kind:
        yield _kind(old.action, new.action, proven)
        return
    before, after = old.action.arguments.values, new.action.arguments.values
    keys = [it for it in dict.fromkeys((*before, *after)) if essence(before.get(it)) != essence(after.get(it))]
    rulings = {key: _ruling(old.action, new.action, key, proven) for key in keys}
    whole = _whole(old.action, new.action, proven)
    if keys and whole[0] in _LOUD and not {effect for effect, _ in rulings.values()} & {whole[0], Effect.WEAKER}:
        # Changes of which none alone proves less may do so together.
        rulings[keys[0]] = whole
    for key in keys:
        was, now = before.get(key), after.get(key)
        effect, why = rulings[key]
        yield FieldChange(
            path=f"{new.action.kind}.{key}",
            before=_shown(was),
            after=_shown(now),
            effect=effect,
            why=why if effect in _LOUD else None,
            at=(old if now is None else new).action.arguments.place(key),
        )


def removed_action(old: Step, proven: Proven) -> FieldChange | None:
    """Return what becomes of what the action of a removed step proved by itself; None where nothing is lost."""
    conditions = implied(old.action.kind, old.action.arguments) or ()
    effect, why = together([_compared(conditions, (), proven), _boot(old.action, None)])
    if effect not in _LOUD:
        return None
    return FieldChange(path="action", before=old.action.kind, after=None, effect=effect, why=why, at=old.action.at)


def _kind(old: Action, new: Action, proven: Proven) -> FieldChange:
    """Tell of another action, and of what the old one brought along to be proven."""
    effect, why = together([_brought_along(old, new, proven), _boot(old, new)])
    if effect is Effect.OTHER and not _does_nothing(old):
        effect, why = Effect.NOTE, f"what `{old.kind}` did, and stopped at where it failed, is no longer done"
    return FieldChange(path="action", before=old.kind, after=new.kind, effect=effect, why=why, at=new.at)


def _brought_along(old: Action, new: Action, proven: Proven) -> Ruling:
    before, after = implied(old.kind, old.arguments), implied(new.kind, new.arguments)
    stated = {it.kind for it in (*(after or ()), *proven.postconditions)}
    if before is None:
        return Effect.NOTE, "only a node can tell what came with the old one to be proven"
    if lost := [it for it in dict.fromkeys(it.kind for it in before) if it not in stated]:
        return Effect.WEAKER, f"{', '.join(lost)} came with the old one and is no longer proven"
    effect, said = _compared(before, after or (), proven)
    return effect, f"of what came with the old one: {said}" if said and effect in _LOUD else None


def _boot(old: Action, new: Action | None) -> Ruling:
    """Return the ruling on that which no condition states: a restart of the node is proven by another boot."""
    before, after = restarts_node(old.kind), new is not None and restarts_node(new.kind)
    if before is after:
        return _NEITHER
    return (
        (Effect.STRONGER, None)
        if after
        else (Effect.WEAKER, "that the node came up from another boot is no longer proven")
    )


def _does_nothing(action: Action) -> bool:
    """Return whether an action gives the node nothing to do, as a checkpoint does."""
    found = read_action(action)
    job = None if found is None else job_of(found)
    return job is not None and not job.stages


def _ruling(old: Action, new: Action, key: str, proven: Proven) -> Ruling:
    """Return what a changed argument does to what the action proves: as if no other one had changed."""
    now = new.arguments.values.get(key)
    if key == _DIGEST and now is None:
        return Effect.WEAKER, "whatever is downloaded is taken now"
    was = old.arguments.values.get(key)
    about = _argument(new.kind, key)
    if about is not None and type_of(about) == "duration":
        return field_ruling(_shape(new.kind), key, was, now)
    if not implies_anything(new.kind) or (about is not None and about.weaker == "never"):
        return _NEITHER
    trials = (
        (old.arguments, _with(old.arguments, key, now)),
        # Arguments that need each other cannot change one at a time.
        (_with(new.arguments, key, was), new.arguments),
        (old.arguments, new.arguments),
    )
    for before, after in (pair for trial in trials for pair in stood_in(*trial, _shape(new.kind))):
        stated, states = implied(old.kind, before), implied(new.kind, after)
        if stated is not None and states is not None:
            ruled = _compared(stated, states, proven)
            return ruled if ruled[0] in _LOUD else _other_act(about, was)
    return Effect.NOTE, "only a node can tell what the action proves by itself"


def _other_act(about: Shape | None, was: Value) -> Ruling:
    """Return the ruling on an argument that changes nothing of what is proven: it may have had something done."""
    if about is None or was is None or was not in about.acts:
        return _NEITHER
    return Effect.NOTE, f"nothing is {shown(was)} any more"


def _whole(old: Action, new: Action, proven: Proven) -> Ruling:
    before, after = implied(old.kind, old.arguments), implied(new.kind, new.arguments)
    return _NEITHER if before is None or after is None else _compared(before, after, proven)


def _shape(kind: str) -> Shape | None:
    return schema.compiler("playbook").shape("#/$defs/step").properties.get(kind)


def _argument(kind: str, key: str) -> Shape | None:
    shape = _shape(kind)
    return None if shape is None else shape.properties.get(key)


def _with(arguments: Arguments, key: str, value: Value) -> Arguments:
    others = {name: it for name, it in arguments.values.items() if name != key}
    return replace(arguments, values=others if value is None else {**others, key: value})


def _compared(old: Sequence[Condition], new: Sequence[Condition], proven: Proven) -> Ruling:
    """Return what it does to the proofs of a step that its action brings along `new` where it brought `old`."""
    pairs = [*paired(old, new)]
    kept, met = {id(before) for before, _ in pairs}, {id(after) for _, after in pairs}
    rulings: list[Ruling] = [(Effect.STRONGER, None) for it in new if id(it) not in met]
    several = max(len(old), len(new)) > 1
    for before, after in pairs:
        for it in stated_fields(before, after):
            if it.effect not in _LOUD or not _is_stated(before, it.path, proven.postconditions):
                about = f"{described(before)}: {it.path} " if several else ""
                rulings.append((it.effect, f"{about}{it.why}" if it.why else None))
    for lost in old:
        if id(lost) not in kept and not any(_is_as_strong(lost, it) for it in proven.postconditions):
            effect, why = proven.elsewhere.ruling(lost, Phase.POST, proven.place)
            rulings.append((effect, f"{described(lost)}: {why}"))
    return together(rulings)


def _is_stated(before: Condition, key: str, others: Sequence[Condition]) -> bool:
    """Return whether another condition states what a field of `before` stated of the same thing."""
    shape, values = shape_of(before.kind), before.arguments.values
    kept: Mapping[str, Value] = {name: it for name, it in values.items() if name == key or names_subject(shape, name)}
    alone = replace(before, arguments=replace(before.arguments, values=kept))
    return key in values and any(_is_as_strong(alone, it) for it in others)


def _is_as_strong(before: Condition, after: Condition) -> bool:
    alike = before.kind == after.kind and before.combination is after.combination
    return alike and not any(it.effect in _LOUD for it in stated_fields(before, after))


def _shown(value: Value) -> str | None:
    return None if value is None else shown(value)
