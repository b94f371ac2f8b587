"""Nodes asked and left as they are: what plan, verify and facts have in common. Connects, asks, closes."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar

from stackplan.connection.failure import ConnectionFailure, ConnectionLost, NodeProgramFailed
from stackplan.engine.bug import Bug, bug, ended_by_bug
from stackplan.engine.clock import Clock
from stackplan.engine.crew import Crew
from stackplan.engine.interruption import Interrupted, ended_by_operator
from stackplan.engine.node_session import NodeSession
from stackplan.engine.prove import answered
from stackplan.engine.target import Connect, Target
from stackplan.model.facts import Answer, Facts, Failed, Origin, Query
from stackplan.model.frozen import dataclass
from stackplan.model.outcome import NodeOutcome
from stackplan.model.report import NodeReport
from stackplan.model.secret import Redactor

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """How nodes are looked at: what may not be seen, the time, how many at once.

    `audit` False: a plan does not look at the shells and settings of the nodes. `on_waiting` hears, from any thread,
    of a node whose answer takes long, what is waited for, and since how many seconds.
    """

    redactor: Redactor
    clock: Clock
    parallel: int = 10
    audit: bool = True
    on_waiting: Callable[[str, str, float], None] | None = None


def consult(
    targets: Sequence[Target], connect: Connect, survey: Survey, work: Callable[[Target, NodeSession], T]
) -> dict[str, T | ConnectionFailure]:
    """Return, by node, what `work` finds over a session with each, or why that did not come about.

    An operator who interrupts it (KeyboardInterrupt) has what was found by then; the other nodes are Interrupted.
    """
    found: dict[str, T | ConnectionFailure] = {}

    def visit(target: Target) -> None:
        try:
            session = connect(target.node)
            try:
                found[target.node.name] = work(target, session)
            finally:
                session.close()
        except ConnectionFailure as error:
            found[target.node.name] = error
        except Exception as error:  # noqa: BLE001 - one node's bug must not cost the others their report
            found[target.node.name] = bug(error)

    with suppress(KeyboardInterrupt):
        Crew[Target, None](visit, survey.parallel).each(targets)
    # Threads that go on add nothing to a copy.
    known = dict(found)
    return {target.node.name: known.get(target.node.name, Interrupted()) for target in targets}


def ask(session: NodeSession, queries: tuple[Query, ...]) -> Mapping[Query, Answer]:
    """Return an answer to each query, in one round trip; what the node program cannot do is an answer, too."""
    if not queries:
        return {}
    try:
        return answered(queries, session.ask(queries))
    except NodeProgramFailed as error:
        return dict.fromkeys(queries, Failed(str(error)))


def live_facts(node: str, session: NodeSession, queries: tuple[Query, ...], clock: Clock) -> Facts:
    return Facts(node, Origin.LIVE, clock.now(), ask(session, queries))


def not_reached(node: str, error: ConnectionFailure) -> NodeReport:
    """Return the report of a node that could not be consulted to the end."""
    if isinstance(error, Bug):
        return ended_by_bug(node, error)
    if isinstance(error, Interrupted):
        return ended_by_operator(node, error)
    outcome = NodeOutcome.LOST if isinstance(error, ConnectionLost) else NodeOutcome.UNREACHABLE
    return NodeReport(node=node, outcome=outcome, message=str(error), remedy=error.remedy)
