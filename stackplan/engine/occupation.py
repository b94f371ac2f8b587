"""Who else holds a node that is planned, and what dead runs left there: told as a note, for a plan takes no lock."""

from typing import Protocol

from stackplan.connection.failure import ConnectionFailure, ConnectionLost, LeftOver, Locked
from stackplan.connection.holders import Holders
from stackplan.model.diagnosis import Diagnosis, Severity

_MEANWHILE = "what the plan says may be another thing once it has ended"


class Occupied(Protocol):
    """What is needed of a session."""

    def holders(self) -> Holders:
        """Return who holds the node and what lives there of runs; nothing is changed."""


def occupation(session: Occupied) -> tuple[Diagnosis, ...]:
    """Return notes on whoever holds the node or left something running there; none for a node that is free.

    That it cannot be told is a note, too: the plan is made by then, and does not rest on it.
    """
    try:
        found = session.holders()
    except ConnectionLost as error:
        return (_note(f"the connection was lost before the node said whether another run holds it: {error}"),)
    except ConnectionFailure as error:
        return (_note(f"whether another run holds the node could not be told: {error}"),)
    return notes(found)


def notes(found: Holders) -> tuple[Diagnosis, ...]:
    """Return a note on the run that holds a node, or one on each action that a dead run left behind there. Pure."""
    if found.held:
        locked = Locked(found.owner, age_s=found.age_s, attended=bool(found.programs), jobs=found.jobs)
        return (_of_forsaken(locked) if not locked.attended and locked.jobs else _of(locked),)
    return tuple(_of(LeftOver(job.job, job.processes)) for job in found.jobs if job.processes)


def _of(failure: Locked) -> Diagnosis:
    return _note(f"{failure.summary}; {_MEANWHILE}", f"an apply would be refused now: {failure.remedy}")


def _of_forsaken(failure: Locked) -> Diagnosis:
    """Return the note on a run whose controller is gone: an apply waits for the end of what it left running."""
    return _note(f"{failure.summary}; {_MEANWHILE}", f"an apply would wait for its end first; {failure.remedy}")


def _note(summary: str, remedy: str | None = None) -> Diagnosis:
    return Diagnosis(summary=summary, severity=Severity.NOTE, remedy=remedy)
