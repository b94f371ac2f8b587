"""The lines of progress: one an occurrence, and each tells something."""

import pytest

from stackplan.model.event import NodeEnded, StepStarted
from stackplan.model.outcome import NodeOutcome
from stackplan.model.report import ActionReport, NodeReport
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
