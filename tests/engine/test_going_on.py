"""A run that goes on, as it is told while it does."""

import pytest

from stackplan.engine.fold import fold
from stackplan.model.event import NodeEnded, NodeStarted, RunEnded, RunStarted, StepEnded, StepStarted
from stackplan.model.outcome import NodeOutcome, StepOutcome
from stackplan.model.report import ActionReport, NodeReport, PlaybookIdentity, StepReport
from stackplan.reports import html, junit, markdown, text

BEGUN = RunStarted(
    run="R", command="apply", playbook=PlaybookIdentity(name="p", path="p.yaml", sha256="0"), nodes=("a", "b"),
    steps=("torch", "sglang"), time="2026-12-01T03:10:22Z", operator="ops",
)  # fmt: skip
TAKEN = NodeStarted(node="a", wave=1, steps=("torch", "sglang"), time="2026-12-01T03:10:23Z")
DONE = StepEnded(node="a", step=StepReport(id="torch", outcome=StepOutcome.CHANGED), time="2026-12-01T03:11:00Z")
RUNS = StepStarted(
    node="a", step="sglang", action=ActionReport(kind="run", command="uv pip install sglang"),
    time="2026-12-01T03:11:01Z",
)  # fmt: skip
ENDED = NodeEnded(
    node="a", outcome=NodeOutcome.OK, report=NodeReport(node="a", outcome=NodeOutcome.OK), time="2026-12-01T03:12:00Z"
)


def test_what_runs_is_told_with_since_when():
    a, b = fold([BEGUN, TAKEN, DONE, RUNS], going_on=True).nodes
    assert (a.outcome, a.message, a.wave) == (NodeOutcome.PENDING, "the run goes on here", 1)
    torch, sglang = a.steps
    assert torch.outcome is StepOutcome.CHANGED
    assert (sglang.outcome, sglang.message) == (StepOutcome.UNKNOWN, "runs since 2026-12-01T03:11:01Z")
    assert (b.outcome, b.message) == (NodeOutcome.PENDING, "its turn is still to come")


def test_a_node_that_is_done_is_done_while_the_others_go_on():
    report = fold([BEGUN, TAKEN, DONE, ENDED], going_on=True)
    assert [node.outcome for node in report.nodes] == [NodeOutcome.OK, NodeOutcome.PENDING]
    assert report.outcome is NodeOutcome.PENDING


def test_the_same_events_are_a_loss_where_nobody_writes_them_any_more():
    a, b = fold([BEGUN, TAKEN, DONE, RUNS]).nodes
    assert (a.outcome, b.outcome) == (NodeOutcome.LOST, NodeOutcome.SKIPPED)


def test_the_end_of_the_run_counts_more_than_who_lives():
    events = [BEGUN, TAKEN, DONE, ENDED, RunEnded(run="R", outcome=NodeOutcome.OK, time="T")]
    assert fold(events, going_on=True).outcome is NodeOutcome.OK


@pytest.mark.parametrize(
    "render",
    [lambda it: text.render(it, width=100, colour=False), markdown.render, html.render, junit.render],
    ids=["text", "markdown", "html", "junit"],
)
def test_nobody_is_told_that_there_is_something_to_do(render):
    shown = render(fold([BEGUN, TAKEN, DONE, RUNS], going_on=True))
    assert "something to do" not in shown
    assert "sglang" in shown
