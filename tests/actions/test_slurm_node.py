"""`slurm_node`: what is refused, what the node is told, what is foretold and stated. A real Slurm: tests/slurm."""

import dataclasses

import pytest

from stackplan.actions.slurm_node import KIND
from stackplan.model.change import Change
from stackplan.model.diagnosis import Invalid
from stackplan.model.facts import Failed, Query, Unknown
from stackplan.model.job import Exited, TimedOut
from stackplan.model.kind import CannotAct
from stackplan.model.outcome import Reason

QUERY = Query("slurm_node", {})
IDLE = {
    "node": "gpu-01",
    "state": "IDLE",
    "base": "IDLE",
    "flags": [],
    "reason": None,
    "reason_user": None,
    "reason_since": None,
    "partitions": ["main"],
    "draining": False,
    "available": True,
    "occupants": [],
    "ours": None,
    "mark": None,
    "user": "root",
}
BUSY = {**IDLE, "state": "MIXED", "base": "MIXED", "occupants": ["job 12 of ada (train), running"]}
DRAINING = {
    **BUSY,
    "state": "MIXED+DRAIN",
    "flags": ["DRAIN"],
    "draining": True,
    "available": False,
    "reason": "broken fan",
    "reason_user": "ada",
}
BEFORE = {"state": "IDLE", "base": "IDLE", "flags": [], "reason": None, "reason_user": None, "reason_since": None}
OURS = {
    **DRAINING,
    "state": "IDLE+DRAIN",
    "base": "IDLE",
    "occupants": [],
    "reason": "CUDA 13 [stackplan 6b4c7ed9]",
    "reason_user": "root",
    "mark": "6b4c7ed9",
    "ours": {"mark": "6b4c7ed9", "reason": "CUDA 13", "before": BEFORE, "since": 1796172008.5},
}
DOWN = {**IDLE, "state": "DOWN", "base": "DOWN", "available": False, "reason": "no GPU 3", "reason_user": "ada"}


@pytest.fixture
def drain(arguments):
    return lambda **values: KIND.read(arguments(state="drain", reason="CUDA 13", **values))


@pytest.fixture
def resume(arguments):
    return lambda **values: KIND.read(arguments(state="resume", **values))


@pytest.mark.parametrize(
    ("values", "summary"),
    [
        ({"state": "down"}, "`state` is not drain or resume"),
        ({"state": "resume", "reason": "done"}, "`reason` belongs to `state: drain`"),
        ({"state": "resume", "on_timeout": "stay"}, "`on_timeout` belongs to `state: drain`"),
        ({"state": "drain", "reason": "two\nlines"}, "`reason` is not one line of text"),
        ({"state": "drain", "on_timeout": "down"}, "`on_timeout` is not take-back or stay"),
        ({"state": "drain", "node": "gpu-[01-08]"}, "`node` is not the name of one node"),
        ({"state": "drain", "timeout": "long"}, "`timeout` is not a duration"),
    ],
)
def test_refused_in_the_playbook(arguments, values, summary):
    with pytest.raises(Invalid, match=summary):
        KIND.read(arguments(**values))


def test_the_tasks(drain, resume, facts):
    (task,) = drain(timeout="2h").job(facts({QUERY: IDLE})).stages
    assert task.arguments == {
        "node": "gpu-01",
        "state": "drain",
        "timeout_s": 7200.0,
        "reason": "CUDA 13",
        "stay": False,
    }
    assert task.display == "scontrol update NodeName=gpu-01 State=DRAIN Reason='CUDA 13'"
    (task,) = resume().job(facts({QUERY: OURS})).stages
    assert task.arguments == {"node": "gpu-01", "state": "resume", "timeout_s": 60.0}


@pytest.mark.parametrize("answer", [Unknown("there is no program scontrol"), Failed("no controller answers")])
def test_what_is_not_known_keeps_it_from_acting_and_from_foretelling(drain, facts, answer):
    refused = drain().job(facts({QUERY: answer}))
    assert isinstance(refused, CannotAct)
    assert answer.why in refused.summary
    assert drain().predict(facts({QUERY: answer})) == Unknown("how the node stands in Slurm is not known")


def test_a_drain_of_another_users_record_is_not_passed_over(resume, facts):
    refused = resume().job(facts({QUERY: {**OURS, "ours": None}}))
    assert isinstance(refused, CannotAct)
    assert "root has no record of it" in refused.summary
    assert "scontrol update NodeName=gpu-01 State=RESUME" in refused.remedy


@pytest.mark.parametrize(
    ("before", "change", "details"),
    [
        (IDLE, ("in service", "drained: CUDA 13 (stackplan)"), ()),
        (BUSY, ("in service", "drained: CUDA 13 (stackplan)"), ("waits for job 12 of ada (train), running",)),
        (
            DRAINING,
            ("draining: broken fan (ada)", "drained: broken fan (ada)"),
            ("waits for job 12 of ada (train), running",),
        ),
        (DOWN, ("down: no GPU 3 (ada)", "drained: CUDA 13 (stackplan)"), ()),
        (OURS, None, ()),
    ],
)
def test_what_a_drain_is_foretold_to_change(drain, facts, before, change, details):
    foretold = drain().predict(facts({QUERY: before}))
    assert foretold.changes == (() if change is None else (Change("slurm", "gpu-01", *change),))
    assert foretold.details == details


def test_a_drain_and_a_resume_foretold_in_a_row_lead_back(drain, resume, facts):
    drained = drain().predict(facts({QUERY: BUSY}))
    answer = drained.answers[QUERY]
    assert answer.value["draining"] is True
    assert answer.value["occupants"] == []
    back = resume().predict(facts({QUERY: answer}))
    assert back.changes == (Change("slurm", "gpu-01", "drained: CUDA 13 (stackplan)", "in service"),)
    assert back.answers[QUERY].value["ours"] is None


def test_a_resume_is_foretold_to_leave_what_others_drained(resume, facts):
    assert resume().predict(facts({QUERY: DRAINING})).changes == ()
    taken_over = {**OURS, "reason": "broken fan", "reason_user": "ada", "mark": None}
    foretold = resume().predict(facts({QUERY: taken_over}))
    assert foretold.changes == ()
    assert foretold.answers[QUERY].value["ours"] is None
    assert foretold.answers[QUERY].value["draining"] is True


def test_a_node_that_was_down_is_foretold_to_be_down_again(drain, resume, facts):
    drained = drain().predict(facts({QUERY: DOWN})).answers[QUERY]
    (change,) = resume().predict(facts({QUERY: drained})).changes
    assert change.after == "down: no GPU 3 (ada)"


def test_what_is_stated_without_being_written_down(drain, resume):
    (condition,) = drain(node="gpu-01").implied()
    assert (condition.kind, condition.arguments.values) == ("slurm_node", {"state": "undisturbed", "node": "gpu-01"})
    (condition,) = resume().implied()
    assert condition.arguments.values == {"state": "resumed"}


@pytest.fixture
def explained(arguments, evidence, facts):
    def explain(ending, output, after=IDLE):
        read = arguments(state="drain", timeout="1h")
        seen = evidence(read, (), output=output, reason=Reason.ACTION)
        return KIND.read(read).diagnose(dataclasses.replace(seen, ending=ending, after=facts({QUERY: after})))

    return explain


@pytest.mark.parametrize(
    ("ending", "output", "after", "found"),
    [
        (
            Exited(1),
            "stackplan: after 1h gpu-01 is not empty: job 12 of ada (train), running; a job that is completing",
            IDLE,
            "SP271 Jobs still ran on gpu-01 after 1h. The drain was taken back",
        ),
        (
            Exited(1),
            "stackplan: after 1h gpu-01 is not empty: job 12",
            OURS,
            "SP271 Jobs still ran on gpu-01 after 1h. It stays drained",
        ),
        (TimedOut(1800.0), "", OURS, "SP271 The step's time limit was over"),
        (Exited(1), "slurm_update error: Invalid user id", IDLE, "SP272 Slurm does not let the step's user"),
        (
            Exited(1),
            "scontrol does not show gpu-01: slurm_load_node error: Unable to contact slurm controller",
            Failed("no controller"),
            "SP273 No controller of Slurm answered",
        ),
    ],
)
def test_failures(explained, ending, output, after, found):
    (diagnosis,) = explained(ending, output, after)
    assert found in f"{diagnosis.code} {diagnosis.summary}"


def test_jobs_that_outlast_the_wait_are_named(explained):
    (diagnosis,) = explained(Exited(1), "stackplan: after 1h gpu-01 is not empty: job 12 of ada; job 13 of bob")
    assert diagnosis.causes == ("job 12 of ada", "job 13 of bob")
    assert diagnosis.observed == "2 on it"


def test_a_failure_that_nothing_is_known_of_is_not_explained(explained):
    assert explained(Exited(1), "stackplan: something else") == ()
