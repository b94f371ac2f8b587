"""What the engine needs of a session with a node: `connection.session.Session` is one, and so is a test's fake."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from stackplan.connection.holders import Holders
from stackplan.connection.lock_owner import LockOwner
from stackplan.model.facts import Answer, Query
from stackplan.model.job import Ending, Whereabouts, Work


class NodeSession(Protocol):
    """Every method may raise ConnectionLost; what was asked may then be asked again over another session."""

    def ask(self, queries: Sequence[Query]) -> dict[Query, Answer]:
        """Return the answers, in one round trip."""

    def start(self, work: Work) -> object:
        """Start the job, or return NotStarted; a job of that name that was started already is not started again."""

    def watch(self, name: str, on_output: Callable[[bytes], None], *, patience_s: float | None = None) -> Ending:
        """Return how the job ended, having given all its output from the first byte on; Lost after `patience_s`."""

    def terminate(self, name: str, grace_s: float) -> None:
        """End the job; may be called while another thread watches."""

    def find(self, name: str) -> Whereabouts:
        """Return what became of a job that may have been started."""

    def lock(self, owner: LockOwner, began: Mapping[str, object] | None = None, *, again: bool = False) -> str | None:
        """Hold the node for a run until nothing of it is alive there. Raise Locked.

        `began` goes into the node's history; return why that could not be written, or None. `again`: it was held over
        a connection that was lost; raise LockBroken where somebody broke it meanwhile.
        """

    def holders(self) -> Holders:
        """Return who holds the node and what lives there of runs; nothing is changed."""

    def record(self, entry: Mapping[str, object]) -> str | None:
        """Add an entry to the node's history; return why it could not be written, or None."""

    def close(self) -> None: ...
