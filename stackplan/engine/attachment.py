"""A node that a run holds on to: one session after another, so that a lost connection loses no step and repeats none.

Asking again is harmless, a job is started once by its name, and watching goes on where it broke off.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from stackplan.connection.failure import (
    ConnectionFailure,
    ConnectionLost,
    HostKeyChanged,
    HostKeyUnknown,
    LockBroken,
    Locked,
    NodeProgramFailed,
    NodeUnreachable,
    ProgramSilent,
)
from stackplan.connection.holders import Holders
from stackplan.connection.lock_owner import LockOwner
from stackplan.engine.clock import Clock
from stackplan.engine.node_session import NodeSession
from stackplan.engine.stop import Level, Stop
from stackplan.model.facts import Answer, Failed, Query
from stackplan.model.frozen import dataclass
from stackplan.model.job import Ending, Interrupted, Lost, NotRebooted, NotStarted, Whereabouts, Work
from stackplan.model.quantity import duration_text

T = TypeVar("T")

RECONNECT_S = 120.0
"""For how long a lost node is tried to be reached: longer than a switch that restarts, shorter than an operator's
patience."""
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 30.0
# A connection that held for this long was a good one: what dropped before it is forgotten.
_STEADY_S = 30.0
# A node that starts anew is looked for this often.
_BOOT_PAUSE_S = 5.0
_DROPS_IN_A_ROW = 5
_GRACE_S = 10.0
# How long after a job's time limit its supervisor is believed to be at work: a grace, the wait for what cannot be
# killed, and a reserve.
OVERDUE_S = 60.0
_PASSING = (NodeUnreachable, ConnectionLost, ProgramSilent)
# Neither becomes better by trying again: somebody else may be answering, or another run has begun.
_FINAL = (HostKeyUnknown, HostKeyChanged, Locked, LockBroken)


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """Who is told that the connection dropped (during which step, and why), and that it is there again."""

    dropped: Callable[[str | None, str], None]
    reattached: Callable[[str | None], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """What runs on the node, by the name that the node knows. One that `ends_boot` takes the connection with it, and
    the node comes back by `due`, on the clock of the run, or not at all.
    """

    name: str
    step: str | None
    timeout_s: float
    due: float
    ends_boot: bool = False


class Attachment:
    """Speaks to one node for one run. `end_job` may be called from any thread, everything else from one."""

    def __init__(
        self,
        connect: Callable[[], NodeSession],
        stop: Stop,
        clock: Clock,
        losses: Losses,
        reconnect_s: float = RECONNECT_S,
    ) -> None:
        """Connect. `reconnect_s` bounds the tries to connect again when that was lost. Raise ConnectionFailure."""
        self._connect = connect
        self._reconnect_s = reconnect_s
        self._clock = clock
        self._stop = stop
        self._losses = losses
        self._owner: LockOwner | None = None
        self._guard = threading.Lock()
        self._job: _Job | None = None
        self._ending = False
        self._gone: ConnectionFailure | None = None
        self._session = connect()

    def lock(self, owner: LockOwner, began: Mapping[str, object] | None = None) -> str | None:
        """Hold the node for the run, and let its history say so; return why that could not be. Raise Locked."""
        unwritten = self._holding_on(lambda session: session.lock(owner, began))
        self._owner = owner
        return unwritten

    def record(self, entry: Mapping[str, object]) -> str | None:
        """Add an entry to the node's history; return why it could not be. No lost connection is waited for."""
        with self._guard:
            session = self._session
        try:
            return session.record(entry) if self._gone is None else str(self._gone)
        except ConnectionFailure as error:
            return str(error)

    def ask(self, queries: tuple[Query, ...]) -> dict[Query, Answer]:
        """Return the answers. Raise ConnectionFailure when the connection is lost and does not come back in time."""
        try:
            return self._holding_on(lambda session: session.ask(queries))
        except NodeProgramFailed as error:
            return dict.fromkeys(queries, Failed(str(error)))

    def find(self, name: str) -> Whereabouts:
        """Return what became of a job that an earlier controller may have started. Raise ConnectionFailure."""
        return self._holding_on(lambda session: session.find(name))

    def holders(self) -> Holders:
        """Return who holds the node and what lives there of runs. Raise ConnectionFailure."""
        return self._holding_on(lambda session: session.holders())

    def carry_out(self, work: Work, on_output: Callable[[bytes], None]) -> Ending:
        """Start the job, watch it to its end, and return how it ended; Lost when that cannot be known."""

        ends_boot = work.job.ends_boot is not None

        def begin() -> _Job:
            self._job = self._due(work.name, work.step, work.timeout_s, ends_boot=ends_boot)
            return self._job

        def start_and_watch() -> Ending:
            started = self._holding_on(lambda session: session.start(work))
            # It may have taken several connections to start it: its time begins now.
            return started if isinstance(started, NotStarted) else self._watch(begin(), on_output)

        with self._guard:
            if self._ending:
                return Interrupted()
            begin()
        return self._at_work(start_and_watch)

    def take_up(
        self, name: str, step: str, timeout_s: float, on_output: Callable[[bytes], None], *, ends_boot: bool = False
    ) -> Ending:
        """Watch a job that was started by an earlier controller to its end; all its output is given once more."""
        job = self._due(name, step, timeout_s, ends_boot=ends_boot)
        with self._guard:
            self._job = job
        return self._at_work(lambda: self._watch(job, on_output))

    def _due(self, name: str, step: str | None, timeout_s: float, *, ends_boot: bool) -> _Job:
        due = self._clock.monotonic() + timeout_s
        return _Job(name=name, step=step, timeout_s=timeout_s, due=due, ends_boot=ends_boot)

    def _at_work(self, call: Callable[[], Ending]) -> Ending:
        """Return what `call` returns, the job being out there meanwhile; Lost when the connection is."""
        job = self._job
        try:
            return call()
        except ConnectionFailure as error:
            if job is None or not job.ends_boot or isinstance(error, _FINAL):
                return Lost(str(error), broken=isinstance(error, LockBroken))
            return Lost(f"the node did not come back from its restart within {duration_text(job.timeout_s)}: {error}")
        finally:
            with self._guard:
                self._job = None

    def end_job(self) -> None:
        """Have the node end what runs there, if anything does, and start nothing any more."""
        with self._guard:
            self._ending = True
            job, session = self._job, self._session
        if job is not None:
            _terminate(session, job.name)

    @property
    def taken_by_another(self) -> Locked | None:
        """The run that took the node while this one was not connected, or None."""
        return self._gone if isinstance(self._gone, Locked) else None

    def close(self) -> None:
        with self._guard:
            session = self._session
        session.close()

    def _watch(self, job: _Job, on_output: Callable[[bytes], None]) -> Ending:
        name, due = job.name, job.due + OVERDUE_S
        seen = 0

        def watch(session: NodeSession) -> Ending:
            nonlocal seen
            # Asked to end between its start and now, or while there was no connection: say it again.
            if self._ending:
                _terminate(session, name)
            told = 0

            def pass_on(data: bytes) -> None:
                nonlocal seen, told
                fresh = data[max(0, seen - told) :]
                told += len(data)
                seen = max(seen, told)
                if fresh:
                    on_output(fresh)

            # A node that was away gets the time to say what happened meanwhile.
            return session.watch(name, pass_on, patience_s=max(OVERDUE_S, due - self._clock.monotonic()))

        ending = self._holding_on(watch)
        # A node that is asked to go down answers for a while as if nothing were to happen.
        while job.ends_boot and isinstance(ending, (NotRebooted, Lost)) and (left := job.due - self._now) > 0:
            if self._stop.wait(min(_BOOT_PAUSE_S, left), Level.END):
                return Lost("the operator ended the run while the node was being restarted")
            ending = self._holding_on(watch)
        return ending

    @property
    def _now(self) -> float:
        return self._clock.monotonic()

    def _holding_on(self, call: Callable[[NodeSession], T]) -> T:
        """Return what `call` returns, over as many sessions as it takes within bounds. Raise ConnectionFailure."""
        if self._gone is not None:
            raise self._gone
        drops, since = 0, self._clock.monotonic()
        while True:
            began = self._clock.monotonic()
            try:
                return call(self._session)
            except ConnectionLost as error:
                now = self._clock.monotonic()
                if now - began >= _STEADY_S:
                    drops, since = 0, now
                drops += 1
                if drops > _DROPS_IN_A_ROW and not self._worth_more(now - since):
                    self._gone = error
                    raise
                self._reconnect(error, drops)

    def _worth_more(self, dropping_s: float) -> bool:
        """Return whether a connection that comes and goes is held on to: for as long as one that does not come back is,
        while a job is out there. A question that ends the program each time is given up.
        """
        return self._job is not None and dropping_s < self._patience_s and self._stop.level is not Level.END

    @property
    def _patience_s(self) -> float:
        """For how long a node that is lost now is tried to be reached: one that starts anew, for all its time."""
        job = self._job
        return self._reconnect_s if job is None or not job.ends_boot else max(self._reconnect_s, job.due - self._now)

    def _reconnect(self, lost: ConnectionLost, drops: int) -> None:
        """Take up another session. Raise ConnectionFailure, now and ever after, when that does not come about."""
        try:
            self._take_another(lost, drops)
        except ConnectionFailure as error:
            self._gone = error
            raise

    def _take_another(self, lost: ConnectionLost, drops: int) -> None:
        """Try as long as that is allowed; less when the operator wants to end."""
        step = None if self._job is None else self._job.step
        self._losses.dropped(step, str(lost))
        self._session.close()
        why: ConnectionFailure = lost
        for pause in self._pauses(drops):
            hurried = self._stop.wait(pause, Level.END)
            try:
                session = self._connect()
                try:
                    if self._owner is not None:
                        # The run's own job may still hold the lock; within one run it is shared.
                        session.lock(self._owner, again=True)
                except ConnectionFailure:
                    session.close()
                    raise
            except ConnectionFailure as error:
                # While a job is out there, everything but another host is taken for the trouble of a bad moment.
                if isinstance(error, _FINAL) or (self._job is None and not isinstance(error, _PASSING)):
                    raise
                if hurried:
                    raise _ended_meanwhile(lost) from error
                why = error
                continue
            with self._guard:
                self._session = session
            self._losses.reattached(step)
            return
        raise why

    def _pauses(self, drops: int) -> Iterator[float]:
        """Yield how long to wait ahead of each try, ever longer, until the time that there is has been used up.

        The more often the connection has dropped in a row, the longer the first one is.
        """
        until = self._now + self._patience_s
        longest = _BOOT_PAUSE_S if self._job is not None and self._job.ends_boot else _LONGEST_PAUSE_S
        pause = min(_FIRST_PAUSE_S * 2 ** (drops - 1), longest)
        while (left := until - self._now) > 0:
            yield min(pause, left)
            pause = min(2 * pause, longest)


def _ended_meanwhile(lost: ConnectionLost) -> ConnectionLost:
    return ConnectionLost(
        f"the operator ended the run while the node was away ({lost}); what runs there may go on",
        "look at the node when it is back",
    )


def _terminate(session: NodeSession, job: str) -> None:
    """Ask the node to end the job. Where the connection is gone, whoever watches finds that out and asks again."""
    try:
        session.terminate(job, _GRACE_S)
    except ConnectionFailure:
        return
