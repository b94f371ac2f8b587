"""Who holds a planned node, and what dead runs left there, are notes of the plan and never its failure."""

import pytest

from stackplan.connection.failure import ConnectionLost, NodeProgramFailed
from stackplan.connection.holders import Holders, LivingJob
from stackplan.connection.lock_owner import LockOwner
from stackplan.engine.consult import Survey
from stackplan.engine.exit_status import exit_status
from stackplan.engine.plan import plan
from stackplan.model.secret import Redactor
from tests.engine.world import FakeClock, FakeSession, World, bound, step, target

OWNER = LockOwner(run="20261201T031022Z-4f2a", operator="ops", host="bastion", playbook="cuda13", time="then")
RUNNING = LivingJob(job="20261201T031022Z-4f2a.gpu-01.torch.1", age_s=180.0)
LEFT = LivingJob(job="20261130T000000Z-aaaa.gpu-01.sglang.1", supervised=False, processes={4711: "bash"})
REFUSED = "an apply would be refused now"
SURVEY = Survey(redactor=Redactor(), clock=FakeClock())


def planned(holders, fault=lambda word: None):
    world = World({"torch": "new"}, holders=holders)
    report = plan([target("gpu-01", bound(step("torch")))], lambda node: FakeSession(world, fault), SURVEY)
    (node,) = report.nodes
    return report, [(it.severity.value, it.summary, it.remedy) for it in node.diagnoses]


def test_a_free_node_is_not_remarked_upon():
    assert planned(Holders(held=False))[1] == []


@pytest.mark.parametrize(
    ("holders", "words", "then", "way_out"),
    [
        (
            Holders(held=True, owner=OWNER, age_s=200.0, programs={7: "python3"}, jobs=(RUNNING,)),
            ["run 20261201T031022Z-4f2a of ops on bastion", "step `torch` has been running there for 3 min"],
            REFUSED,
            "wait until that run has ended",
        ),
        (
            Holders(held=True, owner=OWNER, jobs=(RUNNING,)),
            ["its controller is gone"],
            "an apply would wait for its end first",
            f"`stackplan resume {OWNER.run}`",
        ),
        (Holders(held=True), ["locked by another run"], REFUSED, "stackplan unlock"),
        (
            Holders(held=False, jobs=(LEFT,)),
            ["the action of step `sglang` of run 20261130T000000Z-aaaa still runs", "bash (4711)"],
            REFUSED,
            "kill 4711",
        ),
    ],
    ids=["held", "forsaken", "unnamed", "left over"],
)
def test_whoever_holds_a_node_is_a_note(holders, words, then, way_out):
    report, ((severity, summary, remedy),) = planned(holders)
    assert (severity, exit_status(report)) == ("note", 0)
    assert all(it in summary for it in words), summary
    assert "once it has ended" in summary
    assert then in remedy
    assert way_out in remedy


@pytest.mark.parametrize("error", [ConnectionLost("cut"), NodeProgramFailed("no room")])
def test_a_plan_that_is_made_is_not_lost_with_the_last_question(error):
    def fault(word):
        if word == "holders":
            raise error

    report, ((severity, summary, _),) = planned(Holders(held=False), fault)
    assert (report.nodes[0].outcome.value, severity) == ("ok", "note")
    assert str(error) in summary
