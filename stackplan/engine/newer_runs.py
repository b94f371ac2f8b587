"""Which runs came to a node after another one and did something there, by the node's own history. Pure."""

from stackplan.model.history import NodeHistory, PastRun
from stackplan.model.outcome import StepOutcome

_IDLE = frozenset(it.value for it in (StepOutcome.SATISFIED, StepOutcome.SKIPPED, StepOutcome.NOT_REACHED))


def newer_runs(history: NodeHistory, run: str) -> tuple[PastRun, ...]:
    """Return the runs that took the node after `run` first did and may have changed it, the latest first.

    The node's own order counts. Where it has forgotten the run, the ids do: they begin with the time.
    """
    known = next((index for index, past in enumerate(history.runs) if past.run == run), None)
    later = history.runs[:known] if known is not None else tuple(it for it in history.runs if it.run > run)
    return tuple(past for past in later if past.run != run and _acted(past))


def _acted(past: PastRun) -> bool:
    """Tell whether a run may have changed the node: one whose end is not known may have, too."""
    if past.ended is None or past.command != "apply":
        return True
    return not set(past.steps.values()) <= _IDLE
