"""The exit status, computed once, from the report. Pure; imports model only."""

from stackplan.model.outcome import NodeOutcome, Reason
from stackplan.model.report import Report

# In the order in which they go first when several apply.
_STATUS: tuple[tuple[int, frozenset[NodeOutcome]], ...] = (
    (130, frozenset({NodeOutcome.INTERRUPTED})),
    (7, frozenset({NodeOutcome.LOCKED})),
    (6, frozenset({NodeOutcome.STALE})),
    (4, frozenset({NodeOutcome.UNREACHABLE, NodeOutcome.LOST})),
    (3, frozenset({NodeOutcome.FAILED, NodeOutcome.SKIPPED})),
)
SOMETHING_TO_CHANGE = 5
BUG = 1


def exit_status(report: Report, *, detailed: bool = False) -> int:
    """Return the exit status of a command that came as far as a report.

    `detailed` is `plan --detailed-exitcode`: something to change is then told apart from nothing to do. An invalid
    playbook (2) has no report, and neither has a bug (1) outside of the work on one node.
    """
    if any(node.reason is Reason.BUG for node in report.nodes):
        return BUG
    outcomes = {node.outcome for node in report.nodes} | {report.outcome}
    for status, deciding in _STATUS:
        if outcomes & deciding:
            return status
    return SOMETHING_TO_CHANGE if detailed and NodeOutcome.PENDING in outcomes else 0
