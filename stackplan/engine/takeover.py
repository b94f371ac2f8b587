"""Taking the lock of a node: at once, or when what a controller that is gone had started there has ended."""

from collections.abc import Mapping
from dataclasses import replace

from stackplan.connection.failure import LeftOver, Locked
from stackplan.connection.lock_owner import LockOwner
from stackplan.engine.attachment import OVERDUE_S, Attachment
from stackplan.engine.perform import Run
from stackplan.model.event import Awaited

_PAUSE_S = 0.5


def take_lock(attachment: Attachment, owner: LockOwner, began: Mapping[str, object], node: str, run: Run) -> str | None:
    """Hold the node for the run; return why its history could not say so. Raise Locked and the others of `lock`.

    A run whose controller lives keeps the node, and so does one that was cut off for longer than its job may take.
    """
    until: float | None = None
    while True:
        try:
            return attachment.lock(replace(owner, time=run.clock.now()), began)
        except Locked as locked:
            if isinstance(locked, LeftOver) or locked.attended or not locked.jobs:
                raise
            if until is None:
                until = run.clock.monotonic() + _longest_s(locked) + OVERDUE_S
                run.recorder.record(Awaited(node=node, what=_what(locked), time=run.clock.now()))
            if run.clock.monotonic() >= until or run.stop.wait(_PAUSE_S):
                raise


def _longest_s(locked: Locked) -> float:
    """Return how much longer a job may take by its own time limit."""
    return max(max(0.0, (job.timeout_s or 0.0) - (job.age_s or 0.0)) for job in locked.jobs)


def _what(locked: Locked) -> str:
    whose = f"run {locked.owner.run}, whose controller is gone" if locked.owner else "a run whose controller is gone"
    return f"{'; '.join(job.text for job in locked.jobs)}, for {whose}"
