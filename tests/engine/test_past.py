"""What a controller left undone after a failure, as its journal tells."""

import pytest

from stackplan.engine.past import pasts
from stackplan.model.event import NodeEnded, NodeStarted, RestoreStarted, StepEnded, StepStarted
from stackplan.model.outcome import NodeOutcome, Reason, StepOutcome
from stackplan.model.report import ActionReport, NodeReport, StepReport

STARTED = NodeStarted(node="n", wave=1, steps=("a", "b"), time="")
ENDED = NodeEnded(
    node="n", outcome=NodeOutcome.FAILED, report=NodeReport(node="n", outcome=NodeOutcome.FAILED), time=""
)
RESTORE = RestoreStarted(node="n", of="R", paths=("/p",), time="")


def begun(step):
    return StepStarted(node="n", step=step, action=ActionReport(kind="run", attempts=1), time="")


def told(step, outcome=StepOutcome.FAILED, reason=None):
    return StepEnded(node="n", step=StepReport(id=step, outcome=outcome, reason=reason), time="")


FAILED = told("b", reason=Reason.ACTION)


@pytest.mark.parametrize(
    ("events", "failed"),
    [
        ((begun("b"), FAILED), "b"),
        ((begun("b"), FAILED, RESTORE), "b"),
        # Another controller came, and was killed before it did anything.
        ((begun("b"), FAILED, RESTORE, STARTED), "b"),
        ((begun("b"), FAILED, RESTORE, told("a", StepOutcome.ROLLED_BACK)), "b"),
        # The end of the node is the end of that.
        ((begun("b"), FAILED, RESTORE, ENDED), None),
        ((begun("b"), FAILED, ENDED, STARTED), None),
        # It was tried again, with or without an end.
        ((begun("b"), FAILED, begun("b")), None),
        ((FAILED, told("b", StepOutcome.SATISFIED)), None),
        ((begun("b"), told("b", reason=Reason.LOST)), None),
        # The first of those that broke is the one that stops the node.
        ((told("a", reason=Reason.REGRESSION), told("b", reason=Reason.REGRESSION)), "a"),
    ],
)
def test_the_step_whose_failure_is_still_to_be_answered(events, failed):
    assert pasts((STARTED, *events))["n"].failed == failed
