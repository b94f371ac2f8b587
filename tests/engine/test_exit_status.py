"""The exit status of a report, and the outcome of the whole."""

import itertools

import pytest

from stackplan.engine.exit_status import exit_status
from stackplan.engine.fold import fold, report_nodes, worst
from stackplan.model.outcome import NodeOutcome
from stackplan.model.report import NodeReport, PlaybookIdentity

STATUS = {
    NodeOutcome.OK: 0,
    NodeOutcome.PENDING: 0,
    NodeOutcome.FAILED: 3,
    NodeOutcome.SKIPPED: 3,
    NodeOutcome.UNREACHABLE: 4,
    NodeOutcome.LOST: 4,
    NodeOutcome.LOCKED: 7,
    NodeOutcome.STALE: 6,
    NodeOutcome.INTERRUPTED: 130,
}
ORDER = [130, 7, 6, 4, 3, 5, 0]


def report(*outcomes):
    nodes = tuple(NodeReport(node=str(number), outcome=outcome) for number, outcome in enumerate(outcomes))
    return report_nodes("apply", PlaybookIdentity(name="p", path="p", sha256=""), nodes)


@pytest.mark.parametrize("outcome", NodeOutcome)
def test_every_outcome_has_its_status(outcome):
    assert exit_status(report(outcome)) == STATUS[outcome]


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(NodeOutcome, 2)))
def test_of_two_the_one_that_goes_first_counts(one, other):
    expected = min(STATUS[one], STATUS[other], key=ORDER.index)
    assert exit_status(report(one, other)) == expected
    assert exit_status(report(other, one)) == expected


def test_something_to_change_is_told_apart_only_when_asked_for():
    assert exit_status(report(NodeOutcome.PENDING), detailed=True) == 5
    assert exit_status(report(NodeOutcome.OK), detailed=True) == 0
    assert exit_status(report(NodeOutcome.PENDING, NodeOutcome.FAILED), detailed=True) == 3


def test_the_outcome_of_a_report_is_one_that_gives_its_exit_status():
    for outcomes in itertools.combinations(NodeOutcome, 3):
        whole = report(*outcomes)
        assert STATUS[whole.outcome] == exit_status(whole)
    assert worst([]) is NodeOutcome.OK


def test_events_in_which_no_run_starts_are_no_run():
    with pytest.raises(ValueError, match="no run starts"):
        fold([])
