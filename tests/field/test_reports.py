"""Every replay is caught as its case says, by the code that reviews, plans and runs playbooks."""

import pytest

from stackplan.engine.apply import Setting, apply
from stackplan.engine.bind import bind
from stackplan.engine.consult import Survey
from stackplan.engine.plan import plan
from stackplan.engine.rollout import Target
from stackplan.language import linting, playbook
from stackplan.language.alone import render_alone
from stackplan.model.node import Node, NodeName
from stackplan.model.outcome import NodeOutcome, StepOutcome
from stackplan.model.secret import Redactor
from tests.engine.world import FakeClock, FakeStop
from tests.field.case import BEFORE, cases
from tests.field.node import ToldNode

CASES = cases()
CAUGHT = [(replay, it) for case in CASES for replay in case.replays for it in replay.caught]


class Told:
    """A replay, carried out: what lint, the plan and the run say of it, each made when it is asked for."""

    def __init__(self, replay, folder):
        self.replay = replay
        self.folder = folder
        path = folder / "p.yaml"
        path.write_text(replay.playbook, "utf-8")
        self.written = playbook.read(path)
        self.rendering = render_alone(self.written)
        self.clock = FakeClock()

    @property
    def nodes(self):
        return {"gpu-01": ToldNode(self.replay.node, self.folder)} | {
            name: ToldNode({**self.replay.node, **it}, self.folder / name) for name, it in self.replay.others.items()
        }

    @property
    def targets(self):
        assert not self.rendering.wrong
        bound = bind(self.rendering.playbook)
        return [Target(Node(name=NodeName(name)), bound) for name in self.nodes]

    def review(self):
        return linting.review(self.written, self.rendering.playbook).findings

    def plan(self):
        nodes = self.nodes
        report = plan(self.targets, lambda node: nodes[node.name], Survey(redactor=Redactor(), clock=self.clock))
        assert not any(node.starts for node in nodes.values())
        return report

    def apply(self):
        nodes = self.nodes
        setting = Setting(
            state=self.folder / "state",
            redactor=Redactor(),
            operator="ops",
            clock=self.clock,
            stop=FakeStop(self.clock),
        )
        (node,) = apply(self.targets, lambda node: nodes[node.name], setting).nodes
        assert all(count == 1 for count in nodes["gpu-01"].starts.values())
        return node


def conditions(reports, kind):
    found = [it for it in reports if it.kind == kind]
    assert found, f"no {kind} among {[it.kind for it in reports]}"
    return found


def seen(it, told):
    assert it.observed is None or it.observed in told, told


def diagnosed(it, diagnoses):
    """Hold what is stated of the diagnosis."""
    if it.code is None:
        return
    found = [one for one in diagnoses if one.code == it.code]
    assert found, f"{it.code} is not among {[(one.code, one.summary) for one in diagnoses]}"
    assert any(it.remedy is None or it.remedy in (one.remedy or "") for one in found), [one.remedy for one in found]
    assert all(one.code is not None and one.summary for one in found)


def step_of(node, name):
    (step,) = [step for step in node.steps if step.id == name]
    return step


def lint(told, it):
    found = [one for one in told.review() if one.code == it.what]
    assert found, [(one.code, one.step) for one in told.review()]
    assert it.step is None or it.step in [one.step for one in found]


def finding(told, it):
    (node,) = told.plan().nodes
    found = [one for one in node.diagnoses if one.code == it.what]
    assert found, [(one.code, one.summary, one.causes) for one in node.diagnoses]
    seen(it, " ".join(f"{one.summary} {one.observed}" for one in found))


def precondition(told, it):
    (node,) = told.plan().nodes
    reports = node.preconditions if it.step is None else step_of(node, it.step).conditions
    found = [one for one in conditions(reports, it.what) if one.phase.value == "pre" and one.status.value == it.verdict]
    assert found, [(one.kind, one.status, one.observed, one.why) for one in reports]
    seen(it, " ".join(f"{one.observed} {one.why} {one.evidence}" for one in found))
    ran = told.apply()
    assert ran.outcome is NodeOutcome.FAILED
    assert ran.reason.value == "precondition"
    assert not [step.id for step in ran.steps if step.outcome is StepOutcome.CHANGED and it.step is None]


def predicted(told, it):
    (node,) = told.plan().nodes
    step = step_of(node, it.step)
    assert step.outcome is StepOutcome.WOULD_FAIL, (step.outcome, step.message, [c.why for c in step.conditions])
    assert step.reason.value == it.reason
    assert node.stopped_at == it.step
    if it.what != "action":
        # What a step would break are conditions of an earlier one.
        reports = step.broke.conditions if step.broke else step.conditions
        foretold = [(one, one.status if step.broke else one.predicted) for one in conditions(reports, it.what)]
        found = [one for one, status in foretold if status is not None and status.value == it.verdict]
        assert found, [(one.kind, one.predicted, one.predicted_why) for one in reports]
        seen(it, " ".join(f"{one.observed} {one.predicted_observed}" for one in found))
    diagnosed(it, step.diagnoses)


def stopped(told, it):
    node = told.apply()
    assert (node.outcome, node.stopped_at) == (NodeOutcome.FAILED, it.step), (node.message, node.diagnoses)
    step = step_of(node, it.step)
    assert step.reason.value == it.reason, (step.reason, step.message, [(c.kind, c.status, c.why) for c in step.conditions])
    if it.what != "action":
        reports = step.broke.conditions if step.broke else step.conditions
        found = [one for one in conditions(reports, it.what) if one.status.value == it.verdict]
        assert found, [(one.kind, one.status, one.why) for one in reports]
        seen(it, " ".join(f"{one.observed} {one.why} {one.evidence}" for one in found))
    diagnosed(it, step.diagnoses)


def differs(told, it):
    nodes = told.plan().nodes
    assert len(nodes) > 1
    assert len({node.traits.get(it.what) for node in nodes}) > 1, [dict(node.traits) for node in nodes]


def harmless(told, it):
    node = told.apply()
    assert node.outcome is NodeOutcome.OK, (node.message, node.stopped_at)
    assert {step.outcome for step in node.steps} <= {StepOutcome.CHANGED, StepOutcome.SATISFIED}


def missed(told, it):
    assert not told.review()
    harmless(told, it)


CHECKS = {check.__name__: check for check in (lint, finding, precondition, predicted, stopped, differs, harmless, missed)}


@pytest.mark.parametrize(
    ("replay", "it"), CAUGHT, ids=[f"{replay.id}-{it.stage}-{it.what[:24]}" for replay, it in CAUGHT]
)
def test_what_the_report_tells_of_is_caught(replay, it, tmp_path, monkeypatch):
    monkeypatch.setenv("STACKPLAN_STATE", str(tmp_path / "state"))
    CHECKS[it.stage](Told(replay, tmp_path), it)


def test_at_most_four_reports_are_missed():
    assert len([case for case in CASES if any(it.stage == "missed" for it in case.caught)]) <= 4


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.report))
def test_what_is_missed_is_caught_by_nothing(case):
    stages = {it.stage for it in case.caught}
    assert "missed" not in stages or not stages & {*BEFORE, "stopped", "harmless"}
