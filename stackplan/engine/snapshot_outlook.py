"""What room the snapshots of a planned step will take, where it is to be rolled back if it fails. Pure."""

from collections.abc import Collection

from stackplan.engine.bind import BoundStep
from stackplan.engine.snapshots import NO_ROOM, lacking, room_query, rooms_needed
from stackplan.model.diagnosis import Diagnosis, Severity
from stackplan.model.facts import Facts, Known, Query
from stackplan.model.playbook import OnFailure
from stackplan.model.written import Written

_RUN = "plan"
"""No run has this name, so that nothing counts as kept already."""
_UNASKED = "it was not asked"


def room_queries(step: BoundStep, facts: Facts) -> tuple[Query, ...]:
    """Return what has to be asked for the room; nothing of a step that a failure leaves as it is."""
    if step.step.on_failure is not OnFailure.ROLLBACK:
        return ()
    return tuple(room_query(_RUN, it) for it in step.writes(facts))


def room_notes(step: BoundStep, facts: Facts, told: Collection[Query]) -> tuple[Diagnosis, ...]:
    """Return a note on the snapshot of each thing that the step writes; not again of what was `told` before, by
    whatever name.
    """
    things = step.writes(facts) if room_queries(step, facts) else ()
    places = {_place(it, facts) for it in told} - {None}
    new = ((it, room_query(_RUN, it)) for it in things)
    return tuple(
        _note(step, it, facts) for it, asked in new if asked not in told and _place(asked, facts) not in places
    )


def _place(asked: Query, facts: Facts) -> str | None:
    """Return where the thing is of which a snapshot would be taken, None where that was not told."""
    answer = facts.answers.get(asked)
    place = answer.value.get("path") if isinstance(answer, Known) and isinstance(answer.value, dict) else None
    return place if isinstance(place, str) else None


def _note(step: BoundStep, thing: Written, facts: Facts) -> Diagnosis:
    answer = facts.answers.get(room_query(_RUN, thing))
    if not isinstance(answer, Known) or not isinstance(answer.value, dict):
        why = _UNASKED if answer is None or isinstance(answer, Known) else answer.why
        summary = f"For a rollback a snapshot of {thing.path} is taken first; how much room it takes is unknown: {why}."
        return _said(step, summary)
    if (lack := lacking([answer.value])) is not None:
        summary = f"There is no room for the snapshot of {thing.path} that a rollback needs: {lack}."
        return _said(step, summary, severity=Severity.WARNING, remedy=NO_ROOM)
    if answer.value.get("was") == "absent":
        return _said(step, f"Nothing is at {thing.path} yet: a rollback removes what comes, and takes no room.")
    way = f" (by {answer.value['way']})" if answer.value.get("way") else ""
    room = " and ".join(f"{needed} in {place}" for place, needed in rooms_needed(answer.value)) or "no room"
    return _said(step, f"For a rollback a snapshot of {thing.path} is taken first{way}: it takes {room}.")


def _said(step: BoundStep, summary: str, *, severity: Severity = Severity.NOTE, remedy: str | None = None) -> Diagnosis:
    return Diagnosis(summary=summary, severity=severity, at=step.step.action.at, step=step.id, remedy=remedy)
