"""Ending everything that holds a node, and proving that nothing of it lives and that the lock is free."""

from collections.abc import Mapping
from typing import Protocol

from stackplan.connection.holders import Holders
from stackplan.engine.clock import Clock
from stackplan.engine.stop import Stop

GRACE_S = 10.0
"""What is asked to end (TERM) has so long before it is ended (KILL)."""
RESERVE_S = 10.0
_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 1.0


class Breakable(Protocol):
    def holders(self) -> Holders: ...

    def break_lock(self, by: Mapping[str, str], grace_s: float | None) -> None: ...


def break_lock(
    session: Breakable,
    by: Mapping[str, str],
    clock: Clock,
    stop: Stop,
    grace_s: float = GRACE_S,
) -> Holders:
    """End what holds the node and return who holds it then: nobody, or what cannot be ended. Raise ConnectionFailure.

    TERM first, KILL for what has not ended after `grace_s`.
    """
    session.break_lock(by, grace_s)
    # A supervisor ends what ignores it by itself, and has a word to write afterwards.
    left = _wait(session, clock, stop, grace_s + RESERVE_S)
    if left.none:
        return left
    session.break_lock(by, None)
    return _wait(session, clock, stop, RESERVE_S)


def _wait(session: Breakable, clock: Clock, stop: Stop, patience_s: float) -> Holders:
    """Return who holds the node, as soon as nobody does or `patience_s` are over."""
    until = clock.monotonic() + patience_s
    pause = _FIRST_PAUSE_S
    while not (found := session.holders()).none and clock.monotonic() < until and not stop.wait(pause):
        pause = min(2 * pause, _LONGEST_PAUSE_S)
    return found
