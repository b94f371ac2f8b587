"""The table of endings, changes, postconditions and earlier proofs, with every combination listed."""

import itertools
from typing import get_args

import pytest

from stackplan.engine.judge import judge
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

HELD, NOT_HELD, UNKNOWN = Status.HELD, Status.NOT_HELD, Status.UNKNOWN
CHANGED = (StepOutcome.CHANGED, None)
SATISFIED = (StepOutcome.SATISFIED, None)


def failed(reason):
    return (StepOutcome.FAILED, reason)


NO_OP, POST, BROKE = failed(Reason.NO_OP), failed(Reason.POSTCONDITION), failed(Reason.REGRESSION)

EXITED_0 = [
    # changed, post, earlier, judgement
    (True, HELD, HELD, CHANGED),
    (True, HELD, NOT_HELD, BROKE),
    (True, HELD, UNKNOWN, BROKE),
    (True, NOT_HELD, HELD, POST),
    (True, NOT_HELD, NOT_HELD, POST),
    (True, NOT_HELD, UNKNOWN, POST),
    (True, UNKNOWN, HELD, POST),
    (True, UNKNOWN, NOT_HELD, POST),
    (True, UNKNOWN, UNKNOWN, POST),
    (False, HELD, HELD, CHANGED),
    (False, HELD, NOT_HELD, BROKE),
    (False, HELD, UNKNOWN, BROKE),
    (False, NOT_HELD, HELD, NO_OP),
    (False, NOT_HELD, NOT_HELD, NO_OP),
    (False, NOT_HELD, UNKNOWN, NO_OP),
    (False, UNKNOWN, HELD, POST),
    (False, UNKNOWN, NOT_HELD, POST),
    (False, UNKNOWN, UNKNOWN, POST),
]
NOTHING_RUN = [
    (HELD, HELD, SATISFIED),
    (HELD, NOT_HELD, BROKE),
    (HELD, UNKNOWN, BROKE),
    (NOT_HELD, HELD, POST),
    (NOT_HELD, NOT_HELD, POST),
    (NOT_HELD, UNKNOWN, POST),
    (UNKNOWN, HELD, POST),
    (UNKNOWN, NOT_HELD, POST),
    (UNKNOWN, UNKNOWN, POST),
]
UNPROVEN = [
    (Exited(1), Reason.ACTION),
    (Exited(255), Reason.ACTION),
    (Signalled(9), Reason.ACTION),
    (NotStarted("no room"), Reason.ACTION),
    (TimedOut(30.0), Reason.TIMEOUT),
    (Interrupted(), Reason.INTERRUPTED),
    (Lost("gone"), Reason.LOST),
    (Rebooted("one", "two"), Reason.LOST),
    (NotRebooted("one"), Reason.TIMEOUT),
]
NOT_ANOTHER_BOOT = [*(it for it in UNPROVEN if not isinstance(it[0], Rebooted)), (Exited(0), Reason.ACTION)]
CIRCUMSTANCES = list(itertools.product([True, False], Status, Status))


@pytest.mark.parametrize(("changed", "post", "earlier", "judgement"), EXITED_0)
def test_an_action_that_exits_0_is_judged_by_what_it_left(changed, post, earlier, judgement):
    assert judge(Exited(0), changed=changed, post=post, earlier=earlier) == judgement


@pytest.mark.parametrize(("post", "earlier", "judgement"), NOTHING_RUN)
@pytest.mark.parametrize("changed", [True, False])
def test_a_step_that_runs_nothing_cannot_be_a_no_op(changed, post, earlier, judgement):
    assert judge(None, changed=changed, post=post, earlier=earlier) == judgement


@pytest.mark.parametrize(("ending", "reason"), UNPROVEN)
@pytest.mark.parametrize(("changed", "post", "earlier"), CIRCUMSTANCES)
def test_an_action_that_does_not_end_well_fails_whatever_holds(ending, reason, changed, post, earlier):
    assert judge(ending, changed=changed, post=post, earlier=earlier) == failed(reason)


@pytest.mark.parametrize(("changed", "post", "earlier", "judgement"), EXITED_0)
def test_an_action_that_is_to_end_the_boot_is_judged_by_what_it_left_once_there_is_another(
    changed, post, earlier, judgement
):
    ending = Rebooted("one", "two")
    assert judge(ending, changed=changed, post=post, earlier=earlier, ends_boot=True) == judgement


@pytest.mark.parametrize(("ending", "reason"), NOT_ANOTHER_BOOT)
def test_nothing_but_another_boot_proves_that_the_old_one_was_ended(ending, reason):
    assert judge(ending, changed=True, post=HELD, earlier=HELD, ends_boot=True) == failed(reason)


def test_the_tables_list_every_combination():
    assert {(changed, post, earlier) for changed, post, earlier, _ in EXITED_0} == set(CIRCUMSTANCES)
    assert {(post, earlier) for post, earlier, _ in NOTHING_RUN} == set(itertools.product(Status, Status))
    assert {type(ending) for ending, _ in UNPROVEN} | {Exited} == set(get_args(Ending))
