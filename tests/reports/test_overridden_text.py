"""The block of a plan on variables that override the playbook's own."""

import pytest

from stackplan.model.outcome import NodeOutcome
from stackplan.model.report import PlaybookIdentity, Report
from stackplan.reports.overridden_text import ROWS, overridden_lines
from stackplan.reports.paint import Paint


def lines(count):
    names = [f"v{it:02}" for it in range(count)]
    report = Report(
        command="plan",
        outcome=NodeOutcome.OK,
        playbook=PlaybookIdentity(name="p", path="p.yaml", sha256="0" * 64),
        variables=dict.fromkeys(names, "new"),
        variable_origins=dict.fromkeys(names, "--var"),
        variables_overridden=dict.fromkeys(names, "old"),
    )
    return overridden_lines(report, 100, Paint(colour=False))[1:]


@pytest.mark.parametrize(
    ("count", "last"), [(ROWS, "  v11   old → new   --var"), (ROWS + 1, "  v12   old → new   --var")]
)
def test_a_row_that_is_left_alone_is_told(count, last):
    told = lines(count)
    assert (len(told), told[-1]) == (count, last)


def test_of_more_the_first_are_told_and_the_others_counted():
    told = lines(ROWS + 2)
    assert (len(told), told[-1]) == (ROWS + 1, "  … and 2 more")
