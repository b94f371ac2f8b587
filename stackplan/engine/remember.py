"""What nodes remember of the runs that were made on them: asked of several at once, nothing is changed there."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from stackplan.connection.failure import ConnectionFailure, NodeProgramFailed
from stackplan.engine.bug import bug
from stackplan.engine.crew import Crew
from stackplan.engine.history import past_runs
from stackplan.engine.node_session import NodeSession
from stackplan.model.facts import Answer, Failed, Known, Query, Unknown
from stackplan.model.history import NodeHistory
from stackplan.model.node import Node

ENTRIES = 1200
"""As many as a node keeps."""


def remember(
    nodes: Sequence[Node], connect: Callable[[Node], NodeSession], parallel: int
) -> dict[str, NodeHistory | ConnectionFailure]:
    """Return, by node and in their order, what each remembers, or why it could not be asked."""

    def visit(node: Node) -> tuple[str, NodeHistory | ConnectionFailure]:
        try:
            session = connect(node)
            try:
                return node.name, _asked(node.name, session)
            finally:
                session.close()
        except ConnectionFailure as error:
            return node.name, error
        except Exception as error:  # noqa: BLE001 - one node's bug must not cost the others their answer
            return node.name, bug(error)

    found = dict(Crew[Node, tuple[str, NodeHistory | ConnectionFailure]](visit, parallel).each(nodes))
    return {node.name: found[node.name] for node in nodes}


def _asked(node: str, session: NodeSession) -> NodeHistory:
    query = Query("history", {"most": ENTRIES})
    try:
        return told(node, session.ask([query])[query])
    except NodeProgramFailed as error:
        return NodeHistory(node=node, why_not=error.summary, remedy=error.remedy)


def told(node: str, answer: Answer) -> NodeHistory:
    """Return what a node's answer tells. Pure."""
    match answer:
        case Known(value):
            found = value if isinstance(value, dict) else {}
            entries = found.get("entries")
            unreadable = found.get("unreadable")
            runs, useless = past_runs(entries if isinstance(entries, list) else [])
            known = unreadable if isinstance(unreadable, int) else 0
            held_by = found.get("held_by")
            runs = tuple(replace(run, going_on=run.ended is None and run.run == held_by) for run in runs)
            return NodeHistory(node=node, runs=runs, unreadable=known + useless)
        case Failed(why) | Unknown(why):
            return NodeHistory(node=node, why_not=why)
