"""Every replay is caught as its case says, by the code that reviews, plans and runs playbooks."""

import sys
from pathlib import Path

import pytest

from stackplan.connection.bundle import bundle
from stackplan.connection.process import ProcessStream
from stackplan.connection.session import Session
from stackplan.engine.apply import Setting, apply
from stackplan.engine.bind import bind
from stackplan.engine.consult import Survey
from stackplan.engine.plan import plan
from stackplan.engine.target import Target
from stackplan.language import linting, playbook
from stackplan.language.alone import render_alone
from stackplan.model.node import Node, NodeName
from stackplan.model.outcome import NodeOutcome, StepOutcome
from stackplan.model.secret import Redactor
from stackplan.node.boot import shell_command
from tests.engine.world import FakeClock, FakeStop
from tests.field.case import CU128, UPGRADE, Replay, cases
from tests.field.node import HEAD, ToldNode

REPORTS = [1, 2, *range(4, 9), *range(10, 15), *range(16, 21), *range(22, 26), *range(27, 34), *range(35, 43)]
REPORTS += [*range(44, 57), 58, *range(62, 69), 71, 72, *range(75, 81), *range(82, 96)]
"""The numbers of the reports, which leave some out."""
HELD = (
    ("gpu/held", "gpu: {count: 8, compute_capability: '12.0', driver: '>=580.65.06'}"),
    ("gpu/idle", "gpu: {processes: none}"),
    ("driver_coherent/held", "driver_coherent: {cuda: 13.0, version: '>=580.65.06'}"),
    ("environment_intact/held", "environment_intact: {venv: ~/ml-env}"),
    ("library/held", "library: {name: libnccl.so.2, venv: ~/ml-env, version: '>=2.27', path: ~/ml-env}"),
    ("cuda_link/held", "cuda_link: {target: /usr/local/cuda-13.0, nvcc: 13.0, cuda_home: /usr/local/cuda-13.0}"),
    ("nvcc/held", "nvcc: {prefix: /usr/local/cuda-13.0, release: 13.0}"),
    ("disk/held", "disk: {path: ~/ml-env, free: 30GiB}"),
    ("http/held", "http: {url: 'http://localhost:30000/health'}"),
)
STATED = (
    "    - same_build: {venv: ~/ml-env, packages: [torch, torchvision], by: label}",
    "    - python_import: {venv: ~/ml-env, modules: [torch, torchvision, torchaudio]}",
    "    - kernel_launch: {venv: ~/ml-env, gpus: all}",
    "    - no_stale_caches: {venv: ~/ml-env}",
)
SHELL = Path(__file__).parent / "words_only_shell.py"
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
        if "login_shell" in self.replay.node:
            return self._run(lambda node: through_login_shell())
        nodes = self.nodes
        report = self._run(lambda node: nodes[node.name])
        assert all(count == 1 for count in nodes["gpu-01"].starts.values())
        return report

    def _run(self, connect):
        setting = Setting(
            state=self.folder / "state",
            redactor=Redactor(),
            operator="ops",
            clock=self.clock,
            stop=FakeStop(self.clock),
        )
        (node,) = apply(self.targets, connect, setting).nodes
        return node


def through_login_shell():
    """Return a session with this machine, whose login shell understands words alone."""
    line = shell_command(None, become=None)
    return Session.open(ProcessStream([sys.executable, str(SHELL), "-c", line]), bundle(), 60.0)


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
    assert step.reason.value == it.reason, (
        step.reason,
        step.message,
        [(c.kind, c.status, c.why) for c in step.conditions],
    )
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


CHECKS = {
    check.__name__: check for check in (lint, finding, precondition, predicted, stopped, differs, harmless, missed)
}


@pytest.mark.parametrize(
    ("replay", "it"), CAUGHT, ids=[f"{replay.id}-{it.stage}-{it.what[:24]}" for replay, it in CAUGHT]
)
def test_what_the_report_tells_of_is_caught(replay, it, tmp_path, monkeypatch):
    monkeypatch.setenv("STACKPLAN_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "spool"))
    CHECKS[it.stage](Told(replay, tmp_path), it)


def test_every_report_is_replayed():
    assert [case.report for case in CASES] == REPORTS


def test_at_most_four_reports_are_missed():
    assert len([case for case in CASES if any(it.stage == "missed" for it in case.caught)]) <= 4


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.report))
def test_every_replay_has_something_that_catches_it_or_is_missed_and_nothing_else(case):
    for replay in case.replays:
        stages = {it.stage for it in replay.caught}
        assert stages
        assert "missed" not in stages or len(stages) == 1


def test_a_healthy_node_alarms_nobody(tmp_path, monkeypatch):
    monkeypatch.setenv("STACKPLAN_STATE", str(tmp_path / "state"))
    told = Told(healthy(), tmp_path)
    assert [it.code for it in told.review()] == []
    (node,) = told.plan().nodes
    assert [it.status.value for it in node.preconditions] == ["held"] * len(HELD)
    assert node.outcome is NodeOutcome.PENDING
    assert node.diagnoses == ()
    ran = told.apply()
    assert ran.outcome is NodeOutcome.OK, ran.message
    assert [(step.id, step.outcome, step.diagnoses) for step in ran.steps] == [("torch", StepOutcome.CHANGED, ())]


def healthy():
    """Return the upgrade of torch, with every precondition that the replays have red, on a node where all holds."""
    after = {name: version for row in CU128["dry_runs"] for name, version in row["changes"].items()}
    answers = [{"kind": "imports", "known": {**HEAD, "modules": dict.fromkeys(after)}}]
    facts = ["kernel_launch/held", "no_stale_caches/held"]
    node = {
        **CU128,
        "facts": [name for name, _ in HELD],
        "steps": {"torch": {"packages": after, "answers": answers, "facts": facts}},
    }
    preconditions = "".join(f"  - {text}\n" for _, text in HELD)
    steps = "".join(f"  {line}\n" for line in [*UPGRADE.splitlines(), *STATED])
    text = f"stackplan: 1\nname: healthy\nnodes: all\npreconditions:\n{preconditions}steps:\n{steps}"
    return Replay(report=0, number=1, playbook=text, node=node, others={}, caught=())
