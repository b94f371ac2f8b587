"""A condition in a plan: its mark is of what it will be, and its words fit whatever a condition observes."""

from dataclasses import replace

import pytest

from stackplan.model.outcome import Phase
from stackplan.model.report import ConditionReport
from stackplan.model.verdict import Status
from stackplan.reports.condition_text import in_brief
from stackplan.reports.paint import Paint

NOW = ConditionReport(
    phase=Phase.POST, kind="file", text="~/x contains 'a'", status=Status.NOT_HELD, observed="nothing there"
)


def told(condition):
    (line,) = in_brief(condition, 120, Paint(colour=False))
    mark, *text = line.split()
    return mark, " ".join(text)


@pytest.mark.parametrize(
    ("now", "later", "mark"),
    [
        (Status.NOT_HELD, Status.HELD, "~"),
        (Status.UNKNOWN, Status.HELD, "~"),
        (Status.HELD, Status.HELD, "✔"),
        (Status.NOT_HELD, Status.NOT_HELD, "✘"),
        (Status.HELD, Status.NOT_HELD, "✘"),
        (Status.UNKNOWN, Status.NOT_HELD, "✘"),
        (Status.HELD, Status.UNKNOWN, "?"),
        (Status.NOT_HELD, Status.UNKNOWN, "?"),
        (Status.UNKNOWN, Status.UNKNOWN, "?"),
        (Status.HELD, None, "✔"),
        (Status.NOT_HELD, None, "?"),
        (Status.UNKNOWN, None, "?"),
    ],
)
def test_the_mark_is_of_what_will_be(now, later, mark):
    assert told(replace(NOW, status=now, predicted=later))[0] == mark


def test_a_precondition_that_does_not_hold_is_red_though_nothing_is_foretold():
    assert told(replace(NOW, phase=Phase.PRE))[0] == "✘"


def test_what_will_be_reads_well_after_what_is():
    after = replace(NOW, predicted=Status.HELD, predicted_observed="it matches")
    assert told(after)[1] == "~/x contains 'a' now nothing there, then it matches"
