"""The heart: how a step ended, from four things that are known about it. A table; pure; imports model only."""

from stackplan.model.job import (
    Ending,
    Exited,
    Interrupted,
    Lost,
    NotRebooted,
    NotStarted,
    Rebooted,
    Signalled,
    TimedOut,
)
from stackplan.model.outcome import Reason, StepOutcome
from stackplan.model.verdict import Status

Judgement = tuple[StepOutcome, Reason | None]

# Endings that decide by themselves, whatever holds afterwards.
_UNPROVEN: dict[type[Ending], Reason] = {
    Lost: Reason.LOST,
    Interrupted: Reason.INTERRUPTED,
    TimedOut: Reason.TIMEOUT,
    NotStarted: Reason.ACTION,
    Signalled: Reason.ACTION,
    Rebooted: Reason.LOST,
    NotRebooted: Reason.TIMEOUT,
}

# After an action that ended as it should: (something changed, postconditions, what earlier steps proved). Unknown is
# not proven, so it stops like not held; but "it changed nothing" is said only of a postcondition known not to hold.
_PROVEN: dict[tuple[bool, Status, bool], Judgement] = {
    (True, Status.HELD, True): (StepOutcome.CHANGED, None),
    (True, Status.HELD, False): (StepOutcome.FAILED, Reason.REGRESSION),
    (True, Status.NOT_HELD, True): (StepOutcome.FAILED, Reason.POSTCONDITION),
    (True, Status.NOT_HELD, False): (StepOutcome.FAILED, Reason.POSTCONDITION),
    (True, Status.UNKNOWN, True): (StepOutcome.FAILED, Reason.POSTCONDITION),
    (True, Status.UNKNOWN, False): (StepOutcome.FAILED, Reason.POSTCONDITION),
    (False, Status.HELD, True): (StepOutcome.CHANGED, None),
    (False, Status.HELD, False): (StepOutcome.FAILED, Reason.REGRESSION),
    (False, Status.NOT_HELD, True): (StepOutcome.FAILED, Reason.NO_OP),
    (False, Status.NOT_HELD, False): (StepOutcome.FAILED, Reason.NO_OP),
    (False, Status.UNKNOWN, True): (StepOutcome.FAILED, Reason.POSTCONDITION),
    (False, Status.UNKNOWN, False): (StepOutcome.FAILED, Reason.POSTCONDITION),
}


def went_well(ending: Ending | None, *, ends_boot: bool = False) -> bool:
    """Return whether an action ended as it should; `ends_boot`: it is one that ends the node's boot."""
    return isinstance(ending, Rebooted) if ends_boot else ending == Exited(0)


def judge(ending: Ending | None, *, changed: bool, post: Status, earlier: Status, ends_boot: bool = False) -> Judgement:
    """Return the outcome of a step and, when it failed, the reason.

    `ending` None: there was nothing to run (`checkpoint`). `changed`: the facts differ. `post`: the step's own
    postconditions after the action. `earlier`: those of earlier steps that are checked again; unknown counts as broken,
    for what was proven is no longer. `ends_boot`: only a new boot is the end that the action was to have.
    """
    if ending is None:
        return _judge_nothing_run(post, earlier)
    if went_well(ending, ends_boot=ends_boot):
        return _PROVEN[changed, post, earlier is Status.HELD]
    if (reason := _UNPROVEN.get(type(ending))) is not None:
        return StepOutcome.FAILED, reason
    return StepOutcome.FAILED, Reason.ACTION


def _judge_nothing_run(post: Status, earlier: Status) -> Judgement:
    """Judge a step that only waits and looks: it cannot be a no-op, since it was never to change anything."""
    if post is not Status.HELD:
        return StepOutcome.FAILED, Reason.POSTCONDITION
    if earlier is not Status.HELD:
        return StepOutcome.FAILED, Reason.REGRESSION
    return StepOutcome.SATISFIED, None
