"""Steps of two playbooks against each other: added, removed, renamed, moved, and what changed in each."""

import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from stackplan.language.compare_conditions import Elsewhere, added, compare_conditions, removed
from stackplan.language.compare_filling import essence, masked_lines, shown
from stackplan.model.arguments import Value
from stackplan.model.comparison import CommandChange, Effect, FieldChange, Move, StepChange, Turn
from stackplan.model.diagnosis import Invalid
from stackplan.model.facts import Facts, Origin, Unknown
from stackplan.model.job import Job
from stackplan.model.kind import ACTIONS, ActionKind
from stackplan.model.location import Location
from stackplan.model.outcome import Phase
from stackplan.model.playbook import Action, OnFailure, Step

_WITHOUT_NODE = Unknown("no node is asked for a comparison")
_DIGEST = "sha256"


@dataclass(frozen=True)
class _Places:
    """Where the steps of both sides stand: each with the one before it."""

    old: Mapping[str, str | None]
    new: Mapping[str, str | None]
    moved: frozenset[str]


def compare_steps(old: Sequence[Step], new: Sequence[Step], elsewhere: Elsewhere) -> tuple[StepChange, ...]:
    """Return what differs, in the order of the new playbook, removed steps last."""
    former = _former_ids(old, new)
    olds = {former.get(step.id, step.id): step for step in old}
    places = _places([former.get(step.id, step.id) for step in old], [step.id for step in new])
    kept = {str(step.id) for step in new}
    found = [_step(olds.get(step.id), step, places, elsewhere) for step in new]
    found += [_removed_step(step, elsewhere) for name, step in olds.items() if name not in kept]
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


def _places(old: Sequence[str], new: Sequence[str]) -> _Places:
    common = [name for name in new if name in {*old}]
    at = {name: index for index, name in enumerate(old)}
    staying = _longest_rising([at[name] for name in common])
    moved = frozenset(name for index, name in enumerate(common) if index not in staying)
    return _Places(_before(old), _before(new), moved)


def _before(names: Sequence[str]) -> dict[str, str | None]:
    return dict(zip(names, [None, *names], strict=False))


def _longest_rising(numbers: Sequence[int]) -> frozenset[int]:
    """Return the indexes of a longest rising sequence: what stays in order, so that the fewest steps count as moved."""
    ends: list[int] = []
    tails: list[int] = []
    previous: list[int | None] = []
    for index, number in enumerate(numbers):
        position = bisect.bisect_left(ends, number)
        previous.append(tails[position - 1] if position else None)
        ends[position:] = [number, *ends[position + 1 :]]
        tails[position:] = [index, *tails[position + 1 :]]
    found = set()
    at = tails[-1] if tails else None
    while at is not None:
        found.add(at)
        at = previous[at]
    return frozenset(found)


def _step(old: Step | None, new: Step, places: _Places, elsewhere: Elsewhere) -> StepChange | None:
    if old is None:
        return StepChange(
            id=new.id,
            turn=Turn.ADDED,
            kind=new.action.kind,
            moved=Move(None, places.new[new.id]),
            command=_command_change(None, new),
            conditions=(*added(Phase.PRE, new.preconditions), *added(Phase.POST, new.postconditions)),
            at=new.at,
        )
    fields = tuple(_fields(old, new))
    conditions = (
        *compare_conditions(Phase.PRE, old.preconditions, new.preconditions, elsewhere, new.id),
        *compare_conditions(Phase.POST, old.postconditions, new.postconditions, elsewhere, new.id),
    )
    was = None if old.id == new.id else str(old.id)
    moved = Move(places.old[new.id], places.new[new.id]) if new.id in places.moved else None
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


def _removed_step(old: Step, elsewhere: Elsewhere) -> StepChange:
    return StepChange(
        id=old.id,
        turn=Turn.REMOVED,
        kind=old.action.kind,
        command=_command_change(old, None),
        conditions=(
            *removed(Phase.PRE, old.preconditions, elsewhere),
            *removed(Phase.POST, old.postconditions, elsewhere),
        ),
        at=old.at,
    )


def _fields(old: Step, new: Step) -> Iterator[FieldChange]:
    """Yield what differs in the action and the settings of a step; `name` and `why`, words for people, do not count."""
    if old.action.kind != new.action.kind:
        yield FieldChange(path="action", before=old.action.kind, after=new.action.kind, at=new.action.at)
    else:
        yield from _action_fields(old.action, new.action)
    if old.when != new.when:
        yield _when(old.when, new.when, new.when_at or new.at)
    for name, before, after, effect, why in (
        ("user", old.user, new.user, Effect.OTHER, None),
        ("env", dict(old.environment) or None, dict(new.environment) or None, Effect.OTHER, None),
        ("timeout", _seconds(old.timeout_s), _seconds(new.timeout_s), Effect.OTHER, None),
        ("retries", _retries(old), _retries(new), Effect.OTHER, None),
        ("always", old.always, new.always, Effect.OTHER, None),
        ("on_failure", old.on_failure.value, new.on_failure.value, _of_failure(new), _of_failure_words(new)),
        ("interruptible", old.interruptible, new.interruptible, *_of_interruption(new)),
    ):
        if essence(before) != essence(after):
            yield FieldChange(path=name, before=_shown(before), after=_shown(after), effect=effect, why=why, at=new.at)


def _action_fields(old: Action, new: Action) -> Iterator[FieldChange]:
    before, after = old.arguments.values, new.arguments.values
    for key in (*before, *(it for it in after if it not in before)):
        was, now = before.get(key), after.get(key)
        if essence(was) == essence(now):
            continue
        lost = key == _DIGEST and now is None
        yield FieldChange(
            path=f"{new.kind}.{key}",
            before=_shown(was),
            after=_shown(now),
            effect=Effect.WEAKER if lost else Effect.OTHER,
            why="whatever is downloaded is taken now" if lost else None,
            at=(old if now is None else new).arguments.place(key),
        )


def _when(before: str | None, after: str | None, at: Location) -> FieldChange:
    if after is None:
        return FieldChange(path="when", before=before, after=None, effect=Effect.STRONGER, at=at)
    why = "where it does not hold, nothing of the step is proven"
    effect = Effect.WEAKER if before is None else Effect.NOTE
    return FieldChange(path="when", before=before, after=after, effect=effect, why=why, at=at)


def _of_failure(new: Step) -> Effect:
    return Effect.NOTE if new.on_failure is OnFailure.STOP else Effect.OTHER


def _of_failure_words(new: Step) -> str | None:
    return "a failure is no longer rolled back" if new.on_failure is OnFailure.STOP else None


def _of_interruption(new: Step) -> tuple[Effect, str | None]:
    if new.interruptible:
        return Effect.NOTE, "may be started again after an unknown end"
    return Effect.OTHER, None


def _command_change(old: Step | None, new: Step | None) -> CommandChange | None:
    before, after = _command(old), _command(new)
    return None if before == after else CommandChange(before=before, after=after)


def _command(step: Step | None) -> str | None:
    """Return the command as it would run, where that depends on no node, else what the action does in words.

    None where not even that can be told, because only a node fills in an argument.
    """
    found = None if step is None else ACTIONS.find(step.action.kind)
    if step is None or found is None or not issubclass(found, ActionKind):
        return None
    try:
        action = found.read(step.action.arguments)
    except (Invalid, ValueError, TypeError):
        # A template that only a node fills in need not be what the kind wants.
        return None
    return masked_lines(_job_text(action) or action.describe())


def _job_text(action: ActionKind) -> str | None:
    try:
        facts = Facts("", Origin.RECORDED, "", dict.fromkeys(action.queries(), _WITHOUT_NODE))
        job = action.job(facts)
    except Exception:  # noqa: BLE001 - a kind may take it for certain that a node has answered; then words will do
        return None
    return job.display or None if isinstance(job, Job) else None


def _retries(step: Step) -> Value:
    return None if not step.retries.times else f"{step.retries.times} times, {step.retries.delay_s:g}s apart"


def _seconds(seconds: float) -> str:
    return f"{seconds:g}s"


def _shown(value: Value) -> str | None:
    return None if value is None else shown(value)
