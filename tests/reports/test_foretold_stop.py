"""What is said above the question, or with `--yes` above the first step, of a plan in which a step would fail."""

from dataclasses import replace

from stackplan.model.outcome import NodeOutcome, Reason, StepOutcome
from stackplan.reports import foretold_stop
from tests.reports.conftest import NO_OP, TOOLKIT, node, report


def planned(*steps, name="gpu-01"):
    return node(name, *steps, outcome=NodeOutcome.FAILED, stopped_at="torch")


FAILS = replace(NO_OP, outcome=StepOutcome.WOULD_FAIL, message="the action would exit 0 and change nothing")
BEFORE = replace(TOOLKIT, outcome=StepOutcome.WOULD_CHANGE)


def shown(*nodes, width=100):
    return foretold_stop.render(
        report(*nodes, command="plan", outcome=NodeOutcome.FAILED), width=width, colour=False
    )  # fmt: skip


def test_the_step_why_where_and_what_runs_before_it():
    told = shown(planned(BEFORE, FAILS), planned(BEFORE, FAILS, name="gpu-02"))
    assert told == (
        "✘ `torch` would fail on gpu-01, gpu-02: uv would exit 0 and change nothing (no-op).\n"
        "  What would run before it: `cuda-toolkit`.\n"
        "  A prediction can be wrong, so the steps before it run all the same, and proof decides. `stackplan\n"
        "  plan PLAYBOOK -o FILE` and `stackplan apply FILE` would refuse to start."
    )


def test_what_is_satisfied_does_not_run():
    assert "What would run before it: nothing." in shown(planned(TOOLKIT, FAILS))


def test_nothing_is_said_where_no_step_would_fail():
    assert shown(node("gpu-01", BEFORE, replace(FAILS, outcome=StepOutcome.WOULD_RUN))) == ""
    assert shown(node("gpu-01", outcome=NodeOutcome.UNREACHABLE, message="no way to it")) == ""


def test_preconditions_of_the_playbook_that_do_not_hold_are_told_ahead_of_any_step():
    nodes = [
        replace(planned(BEFORE, FAILS, name=name), reason=Reason.PRECONDITION, stopped_at=None, message="no room")
        for name in ("gpu-01", "gpu-02")
    ]
    told = shown(*nodes)
    assert "the playbook's preconditions would stop gpu-01, gpu-02 before any step: no room." in " ".join(told.split())
    assert "What would run before it" not in told
    assert "`torch` would fail" not in told


def test_very_many_ways_to_fail_are_counted():
    nodes = [planned(replace(FAILS, id=f"torch-{number}"), name=f"n{number}") for number in range(9)]
    told = shown(*nodes)
    assert told.count("would fail on") == 3
    assert "… and 6 more ways in which nodes would fail" in told


def test_very_many_steps_before_it_are_counted():
    many = [replace(BEFORE, id=f"s{number}") for number in range(10)]
    assert "`s7`, and 2 more steps." in shown(planned(*many, FAILS))
