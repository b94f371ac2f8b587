"""Steps of two playbooks against each other: added, removed, renamed, moved, and what changed in each."""

from collections.abc import Iterator, Sequence

from stackplan.language.compare_actions import Proven, action_fields, removed_action
from stackplan.language.compare_conditions import added, compare_conditions, removed
from stackplan.language.compare_elsewhere import BEFORE_ALL, Elsewhere, Place
from stackplan.language.compare_filling import essence, masked_lines, shown
from stackplan.language.compare_implied import read_action
from stackplan.language.compare_order import Order, job_of, order
from stackplan.language.compare_values import Ruling
from stackplan.model.arguments import Value
from stackplan.model.comparison import CommandChange, Effect, FieldChange, Move, StepChange, Turn
from stackplan.model.count import counted
from stackplan.model.location import Location
from stackplan.model.outcome import Phase
from stackplan.model.playbook import Action, OnFailure, Step

_NEITHER: Ruling = (Effect.OTHER, None)


def compare_steps(old: Sequence[Step], new: Sequence[Step], elsewhere: Elsewhere) -> tuple[StepChange, ...]:
    """Return what differs, in the order of the new playbook, removed steps last."""
    former = _former_ids(old, new)
    named = [(former.get(step.id, str(step.id)), step) for step in old]
    olds = dict(named)
    places = order(named, new)
    numbers = {str(step.id): number for number, step in enumerate(new)}
    found = [_step(olds.get(step.id), step, places, elsewhere, numbers[step.id]) for step in new]
    last: Place = BEFORE_ALL
    for name, step in named:
        if name in numbers:
            last = max(last, numbers[name])
        else:
            found.append(_removed_step(step, elsewhere, last + 0.5))
    return tuple(change for change in found if change is not None)


def _former_ids(old: Sequence[Step], new: Sequence[Step]) -> dict[str, str]:
    """Return the new ids of steps that were only given another one: their action stands under an id that is new."""
    kept = {step.id for step in old} & {step.id for step in new}
    waiting = [step for step in new if step.id not in kept]
    found: dict[str, str] = {}
    for step in old:
        if step.id in kept:
            continue
        same = next((it for it in waiting if _does(it.action) == _does(step.action)), None)
        if same is not None:
            waiting.remove(same)
            found[step.id] = same.id
    return found


def _does(action: Action) -> object:
    return action.kind, essence(action.arguments.values)


def _step(old: Step | None, new: Step, places: Order, elsewhere: Elsewhere, place: Place) -> StepChange | None:
    if old is None:
        return StepChange(
            id=new.id,
            turn=Turn.ADDED,
            kind=new.action.kind,
            moved=Move(None, places.after[new.id]),
            command=_command_change(None, new),
            conditions=(*added(Phase.PRE, new.preconditions), *added(Phase.POST, new.postconditions)),
            at=new.at,
        )
    fields = tuple(_fields(old, new, Proven(new.postconditions, elsewhere, place)))
    conditions = (
        *compare_conditions(Phase.PRE, old.preconditions, new.preconditions, elsewhere, place),
        *compare_conditions(Phase.POST, old.postconditions, new.postconditions, elsewhere, place),
    )
    was = None if old.id == new.id else str(old.id)
    moved = places.move(new.id)
    if not (fields or conditions or was or moved):
        return None
    return StepChange(
        id=new.id,
        turn=Turn.CHANGED,
        kind=new.action.kind,
        was=was,
        moved=moved,
        command=_command_change(old, new),
        fields=fields,
        conditions=conditions,
        at=new.at,
    )


def _removed_step(old: Step, elsewhere: Elsewhere, place: Place) -> StepChange:
    conditions = (
        *removed(Phase.PRE, old.preconditions, elsewhere, place),
        *removed(Phase.POST, old.postconditions, elsewhere, place),
    )
    # Where a condition is lost with the step, that says enough.
    told = any(it.effect is Effect.WEAKER for it in conditions)
    lost = None if told else removed_action(old, Proven((), elsewhere, place))
    return StepChange(
        id=old.id,
        turn=Turn.REMOVED,
        kind=old.action.kind,
        command=_command_change(old, None),
        fields=() if lost is None else (lost,),
        conditions=conditions,
        at=old.at,
    )


def _fields(old: Step, new: Step, proven: Proven) -> Iterator[FieldChange]:
    """Yield what differs in the action and the settings of a step; `name` and `why`, words for people, do not count."""
    yield from action_fields(old, new, proven)
    if old.when != new.when:
        yield _when(old.when, new.when, new.when_at or new.at)
    for name, before, after, (effect, why) in _settings(old, new):
        if essence(before) != essence(after):
            yield FieldChange(path=name, before=_shown(before), after=_shown(after), effect=effect, why=why, at=new.at)


def _settings(old: Step, new: Step) -> Iterator[tuple[str, Value, Value, Ruling]]:
    """Yield the settings of both, with what it does where they are not the same."""
    longer, more = new.timeout_s > old.timeout_s, new.retries.times > old.retries.times
    yield "user", old.user, new.user, (Effect.NOTE, "its conditions are asked as another user, too")
    yield "env", dict(old.environment) or None, dict(new.environment) or None, _NEITHER
    timeout = (Effect.NOTE, "may take longer before it counts as failed") if longer else _NEITHER
    yield "timeout", _seconds(old.timeout_s), _seconds(new.timeout_s), timeout
    retries = (Effect.NOTE, "an action that fails is tried more often") if more else _NEITHER
    yield "retries", _retries(old), _retries(new), retries
    always = _NEITHER if new.always else (Effect.NOTE, "where its postconditions hold already it no longer runs")
    yield "always", old.always, new.always, always
    stops = new.on_failure is OnFailure.STOP
    failure = (Effect.NOTE, "a failure is no longer rolled back") if stops else _NEITHER
    yield "on_failure", old.on_failure.value, new.on_failure.value, failure
    again = (Effect.NOTE, "may be started again after an unknown end") if new.interruptible else _NEITHER
    yield "interruptible", old.interruptible, new.interruptible, again


def _when(before: str | None, after: str | None, at: Location) -> FieldChange:
    if after is None:
        return FieldChange(path="when", before=before, after=None, effect=Effect.STRONGER, at=at)
    why = "where it does not hold, nothing of the step is proven"
    effect = Effect.WEAKER if before is None else Effect.NOTE
    return FieldChange(path="when", before=before, after=after, effect=effect, why=why, at=at)


def _command_change(old: Step | None, new: Step | None) -> CommandChange | None:
    before, after = _command(old), _command(new)
    return None if before == after else CommandChange(before=before, after=after)


def _command(step: Step | None) -> str | None:
    """Return the command as it would run, where that depends on no node, else what the action does in words.

    None where not even that can be told, because only a node fills in an argument.
    """
    found = None if step is None else read_action(step.action)
    if found is None:
        return None
    job = job_of(found)
    return masked_lines((job.display if job is not None else "") or found.describe())


def _retries(step: Step) -> Value:
    return None if not step.retries.times else f"{counted(step.retries.times, 'time')}, {step.retries.delay_s:g}s apart"


def _seconds(seconds: float) -> str:
    return f"{seconds:g}s"


def _shown(value: Value) -> str | None:
    return None if value is None else shown(value)
