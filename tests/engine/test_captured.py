"""What an action printed, from the events of its run."""

import pytest

from stackplan.engine.captured import captured
from stackplan.model.diagnosis import Invalid
from stackplan.model.event import OutputSeen, StepEnded, StepStarted
from stackplan.model.outcome import StepOutcome
from stackplan.model.report import ActionReport, StepReport

RUN = "20261201T031022Z-4f2a"


def started(node="a", step="torch", attempt=1):
    return StepStarted(node=node, step=step, action=ActionReport(kind="run", attempts=attempt), time="T")


def seen(text, node="a", step="torch"):
    return OutputSeen(node=node, step=step, text=text, time="T")


def ended(tail, node="a", step="torch"):
    action = ActionReport(kind="run", output_tail=tail)
    return StepEnded(node=node, step=StepReport(id=step, outcome=StepOutcome.CHANGED, action=action), time="T")


def test_output_that_the_journal_has_whole_has_no_tail():
    found = captured([started(), seen("one\n"), seen("two\n"), ended("one\ntwo")], RUN, "torch", None)
    assert (found.head, found.tail) == ("one\ntwo\n", None)
    assert found.job == f"{RUN}.a.torch.1"


def test_output_that_went_past_the_limit_has_a_tail():
    found = captured([started(), seen("one\n"), ended("8\n9")], RUN, "torch", None)
    assert (found.head, found.tail) == ("one\n", "8\n9")


def test_an_action_that_runs_still_has_what_it_printed_so_far():
    found = captured([started(), seen("one\n")], RUN, "torch", None)
    assert (found.head, found.tail) == ("one\n", None)


def test_attempts_follow_one_another():
    events = [started(), seen("first\n"), started(attempt=2), seen("second\n"), ended("second")]
    found = captured(events, RUN, "torch", None)
    assert found.head == "first\n[stackplan: attempt 2]\nsecond\n"
    assert found.job == f"{RUN}.a.torch.2"


def test_what_a_rollback_prints_is_of_no_job_of_its_own():
    found = captured([seen("put back\n")], RUN, "torch", None)
    assert (found.head, found.job) == ("put back\n", None)


def test_nodes_do_not_mix():
    events = [started("a"), started("b"), seen("of b\n", "b"), seen("of a\n", "a"), ended("of b", "b")]
    assert captured(events, RUN, "torch", "b").head == "of b\n"
    with pytest.raises(Invalid, match="ran on 2 nodes") as caught:
        captured(events, RUN, "torch", None)
    assert caught.value.diagnoses[0].remedy == "name one with `--node`"


@pytest.mark.parametrize(
    ("step", "node", "match"),
    [("sglang", None, "no action of a step `sglang` ran in"), ("torch", "c", "step `torch` ran on `c` in")],
)
def test_what_did_not_run_has_printed_nothing(step, node, match):
    with pytest.raises(Invalid, match=match) as caught:
        captured([started()], RUN, step, node)
    assert caught.value.diagnoses[0].expected == "`torch` on a"
    with pytest.raises(Invalid, match=match) as caught:
        captured([], RUN, step, node)
    assert "nothing ran" in caught.value.diagnoses[0].observed
