"""What leaves the engine: every text redacted, and nothing that programs go by."""

from stackplan.engine.redaction import redacted
from stackplan.model.event import NodeEnded, NodeStarted, RunStarted
from stackplan.model.location import Location
from stackplan.model.outcome import NodeOutcome, StepOutcome
from stackplan.model.report import ActionReport, NodeReport, PlaybookIdentity, StepReport
from stackplan.model.secret import Redactor

# As short as a password in an address can be; and what is the whole of a name below.
SHORT = Redactor(frozenset({"1", "a", "p", "gpu1", "gpu2", "alpha"}))


def test_a_short_secret_makes_no_two_nodes_one_and_breaks_no_identity():
    for node in ("gpu1", "gpu2"):
        started = NodeStarted(node=node, wave=1, steps=("apply-1",), time="2026-12-01T00:00:01Z", summary="a gpu1")
        clean = redacted(started, SHORT)
        assert (clean.node, clean.steps, clean.time) == (node, ("apply-1",), "2026-12-01T00:00:01Z")
        assert clean.summary == "*** ***"


def test_a_run_keeps_its_names():
    identity = PlaybookIdentity(name="a", path="playbooks/a.yaml", sha256="1a", revision="a1")
    event = RunStarted(
        run="1a", command="apply", playbook=identity, nodes=("gpu1",), steps=("a",), time="1", operator="alpha"
    )
    clean = redacted(event, SHORT)
    assert (clean.run, clean.command, clean.nodes, clean.steps) == ("1a", "apply", ("gpu1",), ("a",))
    assert (clean.playbook.path, clean.playbook.sha256) == ("playbooks/a.yaml", "1a")
    assert clean.operator == "***"


def test_texts_within_are_redacted_however_deep_they_stand():
    step = StepReport(
        id="a",
        outcome=StepOutcome.FAILED,
        at=Location("a.yaml", 1, 1),
        action=ActionReport(kind="run", command="echo a", output_tail="1"),
    )
    report = NodeReport(node="gpu1", outcome=NodeOutcome.FAILED, steps=(step,), message="a")
    clean = redacted(NodeEnded(node="gpu1", outcome=NodeOutcome.FAILED, report=report, time="1"), SHORT).report
    assert clean.message == "***"
    assert (clean.steps[0].id, clean.steps[0].at, clean.steps[0].action.kind) == ("a", Location("a.yaml", 1, 1), "run")
    assert (clean.steps[0].action.command, clean.steps[0].action.output_tail) == ("echo ***", "***")
