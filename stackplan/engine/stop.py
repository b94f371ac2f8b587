"""The wish to end a run early: how far it goes, and whose it is. Standard library and model only.

`request` may be called from a signal handler: it takes no lock that the main thread could be holding.
"""

import enum
import threading
from collections.abc import Callable

from stackplan.model.outcome import NodeOutcome


class Level(enum.IntEnum):
    """GO; FINISH: no further step starts, running actions finish; END: running actions are ended on the nodes."""

    GO = 0
    FINISH = 1
    END = 2


class Stop:
    """One a run, shared by all its threads. The first `request` asks to finish, the second to end at once."""

    def __init__(self) -> None:
        self._level = Level.GO
        self._failures_exceeded = False
        self._waking = {Level.FINISH: threading.Event(), Level.END: threading.Event()}
        self._listeners: tuple[Callable[[], None], ...] = ()

    @property
    def level(self) -> Level:
        return self._level

    def on_change(self, listener: Callable[[], None]) -> None:
        """Have `listener` called at each request; it has to be quick and fit for a signal handler."""
        self._listeners = (*self._listeners, listener)

    def request(self, level: Level | None = None) -> Level:
        """Raise the level by one, or to `level`; it never falls. Return what holds now."""
        wanted = level if level is not None else Level(min(self._level + 1, Level.END))
        self._level = max(self._level, wanted)
        for reached, waking in self._waking.items():
            if self._level >= reached:
                waking.set()
        for listener in self._listeners:
            listener()
        return self._level

    def fail_rollout(self) -> None:
        """Say that too many nodes failed: no further step starts anywhere, and that is not an interruption."""
        self._failures_exceeded = True
        self._waking[Level.FINISH].set()

    @property
    def outcome_before_next_step(self) -> NodeOutcome | None:
        """Return how a node ends that is about to start a step, or None when it may."""
        if self._level is not Level.GO:
            return NodeOutcome.INTERRUPTED
        return NodeOutcome.SKIPPED if self._failures_exceeded else None

    def wait(self, seconds: float, until: Level = Level.FINISH) -> bool:
        """Wait, at most `seconds`, for a wish to stop of that level. Return whether there is one."""
        return self._waking[until].wait(max(0.0, seconds))
