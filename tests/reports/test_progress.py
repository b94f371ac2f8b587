"""The lines of progress: one an occurrence, and each tells something."""

from dataclasses import replace

import pytest

from stackplan.model.event import NodeEnded, NodeProven, StepStarted
from stackplan.model.outcome import NodeOutcome, Phase
from stackplan.model.report import ActionReport, ConditionReport, NodeReport
from stackplan.model.verdict import Status
from stackplan.reports.progress import first_line, plain_line


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("uv pip install torch", "uv pip install torch"),
        ("bash -euo pipefail <<'SCRIPT'\n\n# why\nset -x\nset -euo pipefail\n  make install\nSCRIPT", "make install"),
        ("bash -euo pipefail <<'SCRIPT'\nset --foo\nSCRIPT", "set --foo"),
        ("bash -euo pipefail <<'SCRIPT'\n# nothing\nSCRIPT", "bash -euo pipefail <<'SCRIPT'"),
        ("python - <<X", "python - <<X"),
        ("cat a\ncat b", "cat a"),
        (None, ""),
    ],
)
def test_of_a_command_a_line_is_shown_that_tells_something(command, line):
    assert first_line(command) == line
    if line:
        started = StepStarted(node="a", step="torch", action=ActionReport(kind="run", command=command), time="T")
        assert plain_line(started) == f"a: torch: {line}"


def test_a_long_message_is_cut_off_behind_a_word():
    report = NodeReport(node="a", outcome=NodeOutcome.LOST, message="how it went " * 30)
    line = plain_line(NodeEnded(node="a", outcome=NodeOutcome.LOST, report=report, time="T"))
    assert line.endswith(("how it…", "how…", "went…"))
    assert "characters" not in line


def test_preconditions_that_nobody_knows_of_are_counted_apart():
    held = ConditionReport(phase=Phase.PRE, kind="gpu", text="8 GPUs", status=Status.HELD)
    doubt, broken = replace(held, status=Status.UNKNOWN), replace(held, status=Status.NOT_HELD)
    said = {
        (held,): None,
        (held, doubt): "a: 1 precondition of the playbook not proven",
        (broken, broken): "a: 2 preconditions of the playbook not held",
        (broken, doubt): "a: 1 precondition of the playbook not held, 1 precondition of the playbook not proven",
    }
    for conditions, line in said.items():
        assert plain_line(NodeProven(node="a", preconditions=conditions, time="T")) == line
