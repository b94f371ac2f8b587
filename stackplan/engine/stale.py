"""What has moved since a plan was made: in the playbook as rendered, on the node, in what would run. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from stackplan.engine.basis import Basis, Part, Thing
from stackplan.engine.conclusion import Conclusion, PlannedStep, renderings
from stackplan.model.change import Change, Held, State, differences
from stackplan.model.count import counted
from stackplan.model.diagnosis import Diagnosis, Severity
from stackplan.model.frozen import dataclass
from stackplan.model.outcome import StepOutcome
from stackplan.model.playbook import Playbook

_ABSENT = "absent"
_UNKNOWN = "not known"
_NAMED = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """One thing that is not as the plan has it; `step` is the first that rests on it, None for the playbook itself.

    `follows`: it is no cause, but comes of what moved.
    """

    what: str
    planned: str
    now: str
    step: str | None = None
    follows: bool = False

    def diagnosis(self) -> Diagnosis:
        severity = Severity.NOTE if self.follows else Severity.ERROR
        return Diagnosis(summary=self.what, expected=self.planned, observed=self.now, step=self.step, severity=severity)


def compare_renderings(saved: Conclusion, playbook: Playbook) -> tuple[Moved, ...]:
    """Return what of the rendered playbook of one node differs from what the plan shows; order counts."""
    then = dict([(None, saved.preconditions), *((step.id, step.rendered) for step in saved.steps)])
    now = dict(renderings(playbook))
    moved = []
    if list(then) != list(now):
        what = "the playbook has other steps than the plan shows"
        moved.append(Moved(what=what, planned=_listing(then), now=_listing(now)))
    for step, before in then.items():
        if step in now and before != now[step]:
            name = "the playbook's preconditions" if step is None else f"step `{step}`"
            old, new = _differing(before, now[step])
            moved.append(
                Moved(what=f"{name} renders to something else than the plan shows", planned=old, now=new, step=step)
            )
    return tuple(moved)


def _listing(steps: Iterable[str | None]) -> str:
    return ", ".join(step for step in steps if step is not None)


def _differing(old: object, new: object) -> tuple[str, str]:
    """Return the first part in which two renderings differ, in words."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in dict.fromkeys((*old, *new)):
            if old.get(key) != new.get(key):
                before, after = _differing(old.get(key), new.get(key))
                return f"{key}: {before}", f"{key}: {after}"
    return _brief(old), _brief(new)


def _brief(value: object) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 200 else f"{text[:200]}…"


def compare(saved: Conclusion, now: Conclusion) -> tuple[Moved, ...]:
    """Return what moved between two plans of the same rendered playbook for the same node: causes, then what follows.

    Where the node itself has moved, what becomes of the steps from there on follows from that, and is not told.
    """
    moved = [*compare_bases(saved.basis, now.basis)]
    pairs = [*zip(saved.steps, now.steps, strict=True)]
    numbers = {step.id: number for number, step in enumerate(saved.steps)}
    first = min((-1 if it.step is None else numbers[it.step] for it in moved), default=len(pairs))
    stop = _stop(pairs)
    reached = pairs[: min(first, len(pairs) if stop is None else stop + 1)]
    for step, after in reached:
        moved += _compare_runs(step, after)
    told = {it.step for it in moved}
    # Where the state, or what would run, says already why a step ends otherwise, that it does is no news.
    moved += [it for step, after in reached if step.id not in told for it in _compare_ends(step, after)]
    return (*moved, *(() if stop is None else _not_reached(pairs, stop)))


def _stop(pairs: Sequence[tuple[PlannedStep, PlannedStep]]) -> int | None:
    """Return the number of the step that would fail now; None where none would."""
    failing = (number for number, (_, after) in enumerate(pairs) if after.outcome is StepOutcome.WOULD_FAIL)
    return next(failing, None)


def _not_reached(pairs: Sequence[tuple[PlannedStep, PlannedStep]], stop: int) -> Iterator[Moved]:
    """Yield, in one, the steps that the plan reaches and that stand behind the one that would fail now."""
    failing = pairs[stop][1]
    behind = [saved for saved, after in pairs[stop + 1 :] if saved.outcome is not after.outcome]
    if not behind:
        return
    named = ", ".join(f"`{step.id}`" for step in behind[:_NAMED])
    rest = f" and {counted(len(behind) - _NAMED, 'more step')}" if len(behind) > _NAMED else ""
    it = "it" if len(behind) == 1 else "them"
    yield Moved(
        what=f"not reached any more: {named}{rest}; `{failing.id}` would fail before {it}",
        planned=", ".join(dict.fromkeys(step.outcome.value for step in behind)),
        now=_ending(failing),
        step=failing.id,
        follows=True,
    )


def compare_bases(saved: Basis, now: Basis) -> tuple[Moved, ...]:
    """Return what moved on the node: things first, each once, then conditions that stand otherwise."""
    found: dict[tuple[str, str, str | None, str | None], Moved] = {}
    conditions: dict[tuple[str, str, str], Moved] = {}
    for part, other in zip(saved.parts, now.parts, strict=True):
        if not _comparable(part, other):
            # Another version of stackplan may prove more of a step than the one that made the plan.
            what = "what a step rests on is looked at otherwise than when the plan was made"
            found_otherwise = Moved(what=what, planned=_asked(part), now=_asked(other), step=part.step)
            conditions.setdefault(_told(found_otherwise), found_otherwise)
            continue
        for change in _changes(part, other, saved, now):
            moved = _thing_moved(change, part.step)
            found.setdefault((change.kind, change.name, change.before, change.after), moved)
        for it in _conditions_moved(part, other):
            # Several steps may state the same; the first of them is named.
            conditions.setdefault(_told(it), it)
    return (*found.values(), *conditions.values())


def _told(moved: Moved) -> tuple[str, str, str]:
    return moved.what, moved.planned, moved.now


def _comparable(part: Part, other: Part) -> bool:
    return len(part.states) == len(other.states) and len(part.conditions) == len(other.conditions)


def _asked(part: Part) -> str:
    return "; ".join(it.text for it in part.conditions) or "no conditions"


def _changes(part: Part, other: Part, saved: Basis, now: Basis) -> Iterator[Change]:
    """Yield what differs between the states of a part; who could not look, then or now, says nothing."""
    for old, new in zip(part.states, other.states, strict=True):
        if old is not None and new is not None and old != new:
            yield from differences(_state(saved.states[old]), _state(now.states[new]))


def _state(things: tuple[Thing, ...]) -> State:
    return {(it.kind, it.name): Held(it.text, it.fingerprint) for it in things}


def _thing_moved(change: Change, step: str | None) -> Moved:
    planned, now = change.before or _ABSENT, change.after or _ABSENT
    if planned == now:
        now = f"{now}, but written anew since"
    return Moved(
        what=f"{change.kind} {change.name} has moved since the plan was made", planned=planned, now=now, step=step
    )


def _conditions_moved(part: Part, other: Part) -> Iterator[Moved]:
    for old, new in zip(part.conditions, other.conditions, strict=True):
        if old.status is not new.status:
            what = f"a condition stands otherwise than the plan found it: {new.text}"
            yield Moved(
                what=what,
                planned=_standing(old.status.value, old.observed),
                now=_standing(new.status.value, new.observed),
                step=part.step,
            )


def _standing(status: str, observed: str | None) -> str:
    word = status.replace("-", " ")
    return word if observed is None else f"{word} ({observed})"


def _compare_runs(saved: PlannedStep, now: PlannedStep) -> Iterator[Moved]:
    """Yield how another command would run, or other things would change, in a step that is meant to run."""
    if not (saved.acts and now.acts):
        return
    if saved.command is not None and saved.command != now.command:
        what = f"step `{saved.id}` would run another command than the plan shows"
        yield Moved(what=what, planned=saved.command, now=now.command or _UNKNOWN, step=saved.id)
    if saved.predicted is not None and saved.predicted != now.predicted:
        yield from _predictions_moved(saved.id, saved.predicted, now.predicted)


def _compare_ends(saved: PlannedStep, now: PlannedStep) -> Iterator[Moved]:
    if saved.outcome is not now.outcome:
        what = f"what becomes of step `{saved.id}` is not what the plan says"
        yield Moved(what=what, planned=saved.outcome.value, now=_ending(now), step=saved.id)


def _ending(step: PlannedStep) -> str:
    return f"{step.outcome.value}: {step.message}" if step.message else step.outcome.value


def _predictions_moved(step: str, saved: tuple[Change, ...], now: tuple[Change, ...] | None) -> Iterator[Moved]:
    """Yield one finding for each thing that would change otherwise; an index may have got new releases since."""
    if now is None:
        what = f"what step `{step}` would change cannot be told any more"
        yield Moved(what=what, planned=counted(len(saved), "change"), now=_UNKNOWN, step=step)
        return
    old = {(it.kind, it.name): it for it in saved}
    new = {(it.kind, it.name): it for it in now}
    for kind, name in sorted({*old, *new}):
        before, after = old.get((kind, name)), new.get((kind, name))
        if before != after:
            what = f"step `{step}` would change {kind} {name} otherwise than the plan shows"
            yield Moved(what=what, planned=_change(before), now=_change(after), step=step)


def _change(change: Change | None) -> str:
    return "no change" if change is None else f"{change.before or _ABSENT} → {change.after or _ABSENT}"
