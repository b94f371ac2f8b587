"""A survey that the operator interrupted: what is known by then is reported, the rest was interrupted."""

from stackplan.connection.failure import ConnectionFailure
from stackplan.model.outcome import NodeOutcome, Reason
from stackplan.model.report import NodeReport


class Interrupted(ConnectionFailure):
    """The operator ended the command before the node had said everything."""

    def __init__(self) -> None:
        super().__init__("the command was interrupted before this node had answered; nothing was changed there")


def ended_by_operator(node: str, found: Interrupted) -> NodeReport:
    return NodeReport(node=node, outcome=NodeOutcome.INTERRUPTED, reason=Reason.INTERRUPTED, message=found.summary)
