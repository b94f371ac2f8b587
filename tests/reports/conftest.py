"""Golden files of what people read, and the reports that they are made from.

`pytest tests/reports --update-golden` writes them anew; what changed is then reviewed like code.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from stackplan.model.change import Change
from stackplan.model.diagnosis import Diagnosis, Severity
from stackplan.model.location import Location
from stackplan.model.outcome import NodeOutcome, Phase, Reason, StepOutcome
from stackplan.model.report import (
    ActionReport,
    Broken,
    ConditionReport,
    NodeReport,
    PlaybookIdentity,
    Report,
    StepReport,
)
from stackplan.model.verdict import Status

GOLDEN = Path(__file__).parent / "golden"
FILTERS = (
    (re.compile(r"\b\d{8}T\d{6}Z-[0-9a-f]{4}\b"), "[RUN]"),
    (re.compile(r"\(\d+(\.\d)? s\)"), "([TIME])"),
)
RUN = "20261201T031022Z-4f2a"
PLAYBOOK = PlaybookIdentity(name="cuda13-blackwell", path="playbooks/cuda13-blackwell.yaml", sha256="0" * 64)
SUMMARY = "8 × RTX PRO 6000 Blackwell · driver 580.95.05"  # noqa: RUF001 - the sign that nodes are described with


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with the golden file of a name, after the named filters."""

    def check(name: str, text: str) -> None:
        for pattern, word in FILTERS:
            text = pattern.sub(word, text)
        path = GOLDEN / f"{name}.txt"
        if request.config.getoption("--update-golden", default=False):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    return check


def at(line: int, column: int = 9) -> Location:
    return Location(PLAYBOOK.path, line, column)


def nvcc(status: Status = Status.HELD) -> ConditionReport:
    return ConditionReport(
        phase=Phase.POST,
        kind="nvcc",
        text="nvcc 13.0 in /usr/local/cuda-13.0",
        status=status,
        expected=None if status is Status.HELD else "13.0",
        observed=None if status is Status.HELD else "no nvcc",
        at=at(30),
    )


def torch(status: Status = Status.NOT_HELD) -> ConditionReport:
    return ConditionReport(
        phase=Phase.POST,
        kind="torch",
        text="torch built for CUDA 13.0",
        status=status,
        before=Status.NOT_HELD,
        expected="13.0",
        observed=None if status is Status.UNKNOWN else "12.8",
        evidence=None if status is Status.UNKNOWN else "torch 2.10.0+cu128 in ~/ml-env",
        why="nvidia-smi exited 9: no devices were found" if status is Status.UNKNOWN else None,
        at=at(41),
    )


INSTALL = ActionReport(
    kind="python_packages",
    command="uv pip install --python ~/ml-env/bin/python --index-url https://download.pytorch.org/whl/nightly/cu130 "
    "torch torchvision torchaudio",
    exit_code=0,
    ending="exited 0",
    output_tail="Audited 3 packages in 29ms\n",
    attempts=1,
)
TOOLKIT = StepReport(id="cuda-toolkit", outcome=StepOutcome.SATISFIED, conditions=(nvcc(),), at=at(20))
REST = tuple(StepReport(id=name, outcome=StepOutcome.NOT_REACHED) for name in ("sglang", "sgl-kernel"))
NO_OP = StepReport(
    id="torch",
    outcome=StepOutcome.FAILED,
    reason=Reason.NO_OP,
    duration_s=0.4,
    at=at(33),
    action=INSTALL,
    conditions=(torch(),),
    diagnoses=(
        Diagnosis(
            code="SP201",
            summary='The installed torch 2.10.0+cu128 satisfies "torch", so no other index was consulted.',
            remedy="Add `upgrade: true`, or pin torch==2.11.0+cu130.",
            remedy_at=at(37, 7),
        ),
    ),
)
CHANGES = (
    Change("package", "torch", "2.10.0+cu128", "2.11.0.dev20260226+cu130"),
    Change("package", "torchvision", "0.25.0+cu128", "0.26.0.dev20260226+cu130"),
    Change("package", "triton", None, "3.6.0"),
    Change("file", "/etc/profile.d/cuda.sh", "a1b2", None),
)


def node(name: str, *steps: StepReport, outcome: NodeOutcome = NodeOutcome.OK, **more: object) -> NodeReport:
    return NodeReport(node=name, outcome=outcome, steps=steps, **{"wave": 1, "summary": SUMMARY, **more})


def report(*nodes: NodeReport, command: str = "apply", outcome: NodeOutcome = NodeOutcome.OK) -> Report:
    run = RUN if command == "apply" else None
    return Report(command=command, outcome=outcome, playbook=PLAYBOOK, nodes=nodes, run=run)


def stopped(name: str, step: StepReport, *more: StepReport) -> NodeReport:
    return node(name, TOOLKIT, step, *more, outcome=NodeOutcome.FAILED, stopped_at=step.id, reason=step.reason)


def _no_op() -> Report:
    return report(stopped("gpu-01", NO_OP, *REST), outcome=NodeOutcome.FAILED)


def _regression() -> Report:
    changed = replace(NO_OP, outcome=StepOutcome.CHANGED, reason=None, changes=CHANGES, diagnoses=(), duration_s=42.0)
    changed = replace(changed, conditions=(torch(Status.HELD),))
    broke = StepReport(
        id="sglang",
        outcome=StepOutcome.FAILED,
        reason=Reason.REGRESSION,
        duration_s=12.0,
        action=replace(INSTALL, command="uv pip install sglang"),
        changes=(Change("package", "torch", "2.11.0.dev20260226+cu130", "2.10.0+cu128"),),
        conditions=(),
        broke=Broken(step="torch", conditions=(torch(),)),
    )
    failed = node(
        "gpu-01", TOOLKIT, changed, broke, REST[1],
        outcome=NodeOutcome.FAILED, stopped_at="sglang", reason=Reason.REGRESSION,
    )  # fmt: skip
    return report(failed, outcome=NodeOutcome.FAILED)


def _action_failed() -> Report:
    output = "Resolved 12 packages\n  0%\r 50%\r100%\nerror: \x1b[31mNo space left on device\x1b[0m (os error 28)\n"
    action = replace(INSTALL, exit_code=2, ending="exited 2", output_tail=output)
    step = replace(NO_OP, reason=Reason.ACTION, action=action, diagnoses=())
    return report(stopped("gpu-01", step, *REST), outcome=NodeOutcome.FAILED)


def _unknown() -> Report:
    step = replace(NO_OP, reason=Reason.POSTCONDITION, conditions=(torch(Status.UNKNOWN), nvcc(Status.NOT_HELD)))
    return report(stopped("gpu-01", replace(step, diagnoses=()), *REST), outcome=NodeOutcome.FAILED)


def _unreachable() -> Report:
    away = node(
        "gpu-02",
        outcome=NodeOutcome.UNREACHABLE,
        summary=None,
        message="10.0.4.2 port 22 refused the connection",
        remedy="start its SSH server, or correct `host` in inventory.yaml",
    )
    held = node(
        "gpu-03",
        outcome=NodeOutcome.FAILED,
        reason=Reason.PRECONDITION,
        preconditions=(replace(torch(), phase=Phase.PRE, text="no process on any GPU", expected="none", observed="1"),),
    )
    return report(node("gpu-01", TOOLKIT), away, held, outcome=NodeOutcome.UNREACHABLE)


def _satisfied() -> Report:
    done = replace(NO_OP, outcome=StepOutcome.SATISFIED, reason=None, diagnoses=(), duration_s=None)
    done = replace(done, conditions=(torch(Status.HELD), nvcc()))
    return report(*(node(f"gpu-{number:02d}", TOOLKIT, done) for number in range(1, 4)))


def _plan() -> Report:
    change = replace(NO_OP, outcome=StepOutcome.WOULD_CHANGE, reason=None, diagnoses=(), duration_s=None)
    script = "set -o pipefail\nsystemctl stop sglang\nrm -rf ~/.cache/flashinfer\n"
    run = StepReport(
        id="stop-service",
        outcome=StepOutcome.WOULD_RUN,
        action=ActionReport(kind="run", command=script),
        conditions=(replace(nvcc(Status.UNKNOWN), text="service sglang is inactive", why="systemctl is not there"),),
    )
    unknown = StepReport(id="sglang", outcome=StepOutcome.UNKNOWN, message="depends on what torch changes")
    skipped = StepReport(id="numa", outcome=StepOutcome.SKIPPED, message="`when` does not hold: node.labels.numa")
    pending = node("gpu-01", TOOLKIT, change, run, unknown, skipped, outcome=NodeOutcome.PENDING, wave=None)
    return report(pending, replace(pending, node="gpu-02"), command="plan", outcome=NodeOutcome.PENDING)


def _foretold() -> Report:
    """A plan that predicts: a change, a diff, a warning, a part that stays open, a regression; nodes that differ."""
    held = {"predicted": Status.HELD, "predicted_observed": "13.0"}
    open_ = {"predicted": Status.UNKNOWN, "predicted_why": "not known before torch is changed"}
    torch_step = replace(
        NO_OP,
        outcome=StepOutcome.WOULD_CHANGE,
        reason=None,
        diagnoses=(),
        duration_s=None,
        predicted=CHANGES[:3],
        conditions=(
            replace(torch(), **held),
            replace(torch(Status.HELD), text="~/ml-env intact", **open_),
            replace(torch(), text="torch with code for sm_120", observed="sm_90", **open_),
            replace(torch(Status.UNKNOWN), text="import torch", **held),
        ),
    )
    profile = StepReport(
        id="profile",
        outcome=StepOutcome.WOULD_CHANGE,
        action=ActionReport(kind="file", command="write /etc/profile.d/cuda.sh, 42 B"),
        predicted=(Change("file", "/etc/profile.d/cuda.sh", "mode 0644", "mode 0600"),),
        details=("--- /etc/profile.d/cuda.sh", "+++ /etc/profile.d/cuda.sh", "@@ -1 +1,2 @@", "   indented", "+new"),
    )
    weak = replace(
        TOOLKIT,
        predicted=(),
        diagnoses=(
            Diagnosis(severity=Severity.WARNING, summary="The postconditions are too weak.", remedy="State more."),
        ),
    )
    app = StepReport(
        id="app",
        outcome=StepOutcome.WOULD_FAIL,
        reason=Reason.REGRESSION,
        message="would break `torch`: torch built for CUDA 13.0",
        action=replace(INSTALL, command="uv pip install app"),
        predicted=(Change("package", "torch", "2.11.0+cu130", "2.10.0+cu128"),),
        conditions=(replace(nvcc(), predicted=Status.NOT_HELD, predicted_observed="12.8", predicted_expected="13.0"),),
        broke=Broken(step="torch", conditions=(torch(),)),
    )
    no_op = replace(
        NO_OP,
        outcome=StepOutcome.WOULD_FAIL,
        duration_s=None,
        predicted=(),
        conditions=(replace(torch(), predicted=Status.NOT_HELD, predicted_observed="12.8", predicted_expected="13.0"),),
    )
    left = StepReport(
        id="tune", outcome=StepOutcome.WOULD_CHANGE, message="unknown until applied: its effects are not declared"
    )
    unsure = {"predicted": Status.UNKNOWN}
    overcast = StepReport(
        id="probe",
        outcome=StepOutcome.UNKNOWN,
        message="holds now; `tune` would act before it",
        conditions=(replace(nvcc(), **unsure, predicted_why="`tune` would act before it"),),
    )
    last = StepReport(
        id="sgl-kernel",
        outcome=StepOutcome.UNKNOWN,
        message="not reached: `app` would fail before it",
        conditions=(replace(nvcc(), **unsure, predicted_why="`app` would fail before it"),),
    )
    first = node(
        "gpu-01", weak, torch_step, profile, left, overcast, app, last,
        outcome=NodeOutcome.FAILED, stopped_at="app", reason=Reason.REGRESSION, traits={"driver": "580", "uv": "0.13"},
    )  # fmt: skip
    second = replace(first, node="gpu-02", traits={"driver": "580"})
    third = node(
        "gpu-03", no_op,
        outcome=NodeOutcome.FAILED, stopped_at="torch", reason=Reason.NO_OP, traits={"driver": "570", "uv": "0.13"},
    )  # fmt: skip
    return report(first, second, third, command="plan", outcome=NodeOutcome.FAILED)


def _verify() -> Report:
    held = StepReport(id="cuda-toolkit", outcome=StepOutcome.HELD, conditions=(nvcc(),))
    not_held = StepReport(id="torch", outcome=StepOutcome.NOT_HELD, conditions=(torch(), nvcc()))
    failed = node("gpu-01", held, not_held, outcome=NodeOutcome.FAILED, wave=None)
    fine = node("gpu-02", held, wave=None)
    return report(failed, fine, command="verify", outcome=NodeOutcome.FAILED)


def _unproven() -> Report:
    """A `verify` of one node of which something is not known, and of another of which something does not hold, too."""
    held = StepReport(id="cuda-toolkit", outcome=StepOutcome.HELD, conditions=(nvcc(),))
    doubt = replace(torch(Status.UNKNOWN), before=None)
    message = f"cannot be proven: {doubt.text} ({doubt.why})"
    open_ = StepReport(id="torch", outcome=StepOutcome.NOT_HELD, conditions=(doubt, nvcc()), message=message)
    broken = replace(open_, conditions=(doubt, nvcc(Status.NOT_HELD)), message=f"does not hold: {nvcc().text}")
    nodes = (node(name, held, step, outcome=NodeOutcome.FAILED, wave=None, message=step.message)
             for name, step in (("gpu-01", open_), ("gpu-02", broken)))  # fmt: skip
    return report(*nodes, command="verify", outcome=NodeOutcome.FAILED)


def _many() -> Report:
    """500 nodes that went through, each with changes of its own, but for every hundredth."""
    nodes = []
    for number in range(500):
        own = (Change("package", "torch", "2.10.0", f"2.11.{number}"),)
        step = replace(NO_OP, outcome=StepOutcome.CHANGED, reason=None, diagnoses=(), changes=own, conditions=())
        name = f"gpu-{number:03d}"
        nodes.append(node(name, TOOLKIT, step) if number % 100 else stopped(name, NO_OP, *REST))
    return report(*nodes, outcome=NodeOutcome.FAILED)


SAMPLES: dict[str, Callable[[], Report]] = {
    "no_op": _no_op,
    "regression": _regression,
    "action_failed": _action_failed,
    "unknown": _unknown,
    "unreachable": _unreachable,
    "satisfied": _satisfied,
    "plan": _plan,
    "foretold": _foretold,
    "verify": _verify,
    "unproven": _unproven,
    "many": _many,
    "no_node": report,
}


@pytest.fixture(params=SAMPLES)
def sample(request: pytest.FixtureRequest) -> tuple[str, Report]:
    """Each of the sample reports in turn, with its name."""
    return request.param, SAMPLES[request.param]()


@pytest.fixture
def no_op_report() -> Report:
    return _no_op()


@pytest.fixture
def unproven_report() -> Report:
    return _unproven()


@pytest.fixture
def many_report() -> Report:
    return _many()


@pytest.fixture
def plan_report() -> Report:
    return _plan()


@pytest.fixture
def outside_of_code() -> Callable[[str], str]:
    """Take from a comment what GitHub reads as markdown: no fences, no code spans, no `<code>`."""

    def taken(text: str) -> str:
        text = re.sub(r"^(`{3,})\w*\n.*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
        text = re.sub(r"<code>[^<]*</code>", "", text)
        return re.sub(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", "", text)

    return taken
