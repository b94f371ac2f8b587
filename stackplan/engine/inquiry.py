"""Questions to one node, and how long their answers count. I/O through the session that it is given.

An answer counts until something runs on the node: a step that is satisfied costs no round trip of its own.
"""

from collections.abc import Collection
from typing import Protocol

from stackplan.engine.bind import BoundCondition, queries_of
from stackplan.engine.clock import Clock
from stackplan.engine.prove import Proof, answered, prove
from stackplan.engine.stop import Level, Stop
from stackplan.model.facts import Answer, Facts, Origin, Query

_FIRST_PAUSE_S = 0.25
_LONGEST_PAUSE_S = 5.0


class Asks(Protocol):
    def ask(self, queries: tuple[Query, ...]) -> dict[Query, Answer]: ...


class Inquiry:
    """What is known of a node right now."""

    def __init__(self, node: str, session: Asks, clock: Clock) -> None:
        self._node = node
        self._session = session
        self._clock = clock
        self._answers: dict[Query, Answer] = {}

    def learn(self, queries: Collection[Query]) -> Facts:
        """Return everything that is known, with `queries` among it: one round trip for those not asked yet, or none."""
        return self.ask_again([query for query in queries if query not in self._answers])

    def ask_again(self, queries: Collection[Query]) -> Facts:
        """Ask all of `queries` in one round trip, whatever is known already; return everything that is known then."""
        asked = tuple(dict.fromkeys(queries))
        if asked:
            self._answers = {**self._answers, **answered(asked, self._session.ask(asked))}
        return Facts(self._node, Origin.LIVE, self._clock.now(), self._answers)

    def forget(self) -> None:
        """Something runs on the node: no answer counts any longer."""
        self._answers = {}


def settle(conditions: Collection[BoundCondition], inquiry: Inquiry, clock: Clock, stop: Stop) -> tuple[Proof, ...]:
    """Return the verdicts, having asked again, at growing intervals, for what has a `within` and does not hold yet.

    The last look is taken when the time is up. An operator who wants to end at once is not kept waiting.
    """
    proofs = prove(conditions, inquiry.learn(queries_of(conditions)))
    started = clock.monotonic()
    pause = _FIRST_PAUSE_S
    while stop.level is not Level.END:
        left = {
            id(proof.condition): proof.condition.patience_s - (clock.monotonic() - started)
            for proof in proofs
            if not proof.verdict.held
        }
        waiting = [condition for condition in conditions if left.get(id(condition), 0.0) > 0.0]
        if not waiting:
            break
        stop.wait(min(pause, max(left.values())), Level.END)
        pause = min(pause * 2, _LONGEST_PAUSE_S)
        proofs = prove(conditions, inquiry.ask_again(queries_of(waiting)))
    return proofs
