"""A scene that does not show what it tells is found out, whichever part of the report is different."""

from dataclasses import replace

import pytest

from stackplan.lab.demo import SCENES
from stackplan.lab.scene import mismatches
from stackplan.model.change import Change
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.outcome import NodeOutcome, Reason, StepOutcome
from stackplan.model.report import ActionReport, Broken, NodeReport, PlaybookIdentity, Report, StepReport

NO_OP, THROUGH, AGAIN, REGRESSION = SCENES
TORCH_MOVED = Change("package", "torch", "2.10.0+cu128", "2.11.0+cu130")
RAN = ActionReport(kind="python_packages", exit_code=0, attempts=1)


def step(name, outcome, **fields):
    return StepReport(id=name, outcome=outcome, **fields)


def report(*steps, nodes=1, outcome=NodeOutcome.OK, **fields):
    node = NodeReport(node="gpu-01", outcome=outcome, steps=steps, **fields)
    identity = PlaybookIdentity(name="p", path="p.yaml", sha256="0")
    return Report(command="apply", outcome=outcome, playbook=identity, nodes=(node,) * nodes)


def no_op(**torch):
    fields = {"reason": Reason.NO_OP, "diagnoses": (Diagnosis(summary="s", remedy="add `upgrade: true`"),), **torch}
    return report(
        step("torch", StepOutcome.FAILED, **fields),
        step("sglang", StepOutcome.NOT_REACHED),
        outcome=NodeOutcome.FAILED,
        stopped_at="torch",
        reason=Reason.NO_OP,
    )


def through(outcome=StepOutcome.CHANGED, changes=(TORCH_MOVED,)):
    steps = (step("torch", outcome, changes=changes), step("sglang", StepOutcome.SATISFIED))
    return report(*steps, nodes=THROUGH.nodes)


def again(**torch):
    return report(step("torch", torch.pop("outcome", StepOutcome.SATISFIED), **torch), nodes=AGAIN.nodes)


def regression(broken="torch", later=StepOutcome.NOT_REACHED):
    broke = Broken(step=broken, conditions=()) if broken else None
    return report(
        step("torch", StepOutcome.CHANGED),
        step("app", StepOutcome.FAILED, reason=Reason.REGRESSION, broke=broke),
        step("after-app", later),
        outcome=NodeOutcome.FAILED,
        stopped_at="app",
        reason=Reason.REGRESSION,
    )


@pytest.mark.parametrize(
    ("scene", "told"), [(NO_OP, no_op()), (THROUGH, through()), (AGAIN, again()), (REGRESSION, regression())]
)
def test_a_report_as_told_has_no_mismatch(scene, told):
    assert mismatches(scene, scene.exit_status, told) == []


@pytest.mark.parametrize("scene", SCENES)
def test_another_exit_status_is_a_mismatch(scene):
    assert f"expected exit status {scene.exit_status}, observed 1" in mismatches(scene, 1, no_op())


@pytest.mark.parametrize(
    ("scene", "observed", "words"),
    [
        (NO_OP, no_op(changes=(TORCH_MOVED,)), "gpu-01: expected no changes"),
        (NO_OP, no_op(diagnoses=()), "gpu-01: expected a remedy that names `upgrade`"),
        (NO_OP, replace(no_op(), nodes=()), "expected a report of 1 nodes, observed 0"),
        (NO_OP, regression(), "gpu-01: expected it to stop at torch, observed app"),
        (NO_OP, through(), "gpu-01: expected outcome failed, observed ok"),
        (THROUGH, through(outcome=StepOutcome.NOT_REACHED), "gpu-01: expected step torch to be proven, observed not-r"),
        (THROUGH, through(outcome=StepOutcome.SKIPPED, changes=()), "gpu-01: expected torch among the changes of step"),
        (THROUGH, through(changes=()), "gpu-01: expected torch among the changes of step torch"),
        (THROUGH, no_op(), "gpu-01: expected outcome ok, observed failed"),
        (AGAIN, again(outcome=StepOutcome.CHANGED), "gpu-01: expected step torch to be satisfied, observed changed"),
        (AGAIN, again(action=RAN), "gpu-01: expected nothing to run in step torch"),
        (REGRESSION, regression(broken="sglang"), "gpu-01: expected the broken step to be torch, observed sglang"),
        (REGRESSION, regression(broken=None), "gpu-01: expected the broken step to be torch, observed None"),
        (REGRESSION, regression(later=StepOutcome.CHANGED), "gpu-01: expected step after-app not to be reached"),
        (REGRESSION, no_op(), "gpu-01: expected reason regression, observed no-op"),
    ],
)
def test_each_difference_is_named(scene, observed, words):
    assert any(line.startswith(words) for line in mismatches(scene, scene.exit_status, observed))
