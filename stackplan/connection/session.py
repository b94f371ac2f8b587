"""A session with the node program: questions, jobs and the lock, over any byte stream."""

import base64
import binascii
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, TypeVar

from stackplan.connection import wire
from stackplan.connection.failure import ConnectionLost, LeftOver, LockBroken, Locked, NodeProgramFailed
from stackplan.connection.handshake import Greeting, Opened, open_program
from stackplan.connection.holders import Holders, number, read_holders, read_jobs, read_processes
from stackplan.connection.lock_owner import LockOwner
from stackplan.connection.mailbox import Mailbox
from stackplan.connection.stream import ByteStream
from stackplan.model.facts import Answer, Query
from stackplan.model.frozen import dataclass
from stackplan.model.job import Absent, Ended, Ending, Lost, NotStarted, Running, Vanished, Whereabouts, Work

# The node program is heard every 5 s while it is asked something; it may be slow, but not for this long.
SILENCE_S = 45.0
ASK_TIMEOUT_S = 120.0
_STUCK = "its supervisor there may be stopped, or waiting for a disk that is gone"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Started:
    """A job's supervisor on the node, and where its spool lies. Also for a job that was started before."""

    pid: int | None
    spool: str


class Session:
    """Speaks to one node program. `terminate` may be called from any thread while another one watches.

    `round_trips` counts how often an answer was waited for, `execs` the commands that were started on the node.
    """

    def __init__(self, stream: ByteStream, opened: Opened, silence_s: float = SILENCE_S) -> None:
        self._stream = stream
        self._mailbox = Mailbox(stream, opened.decoder, silence_s)
        self.greeting: Greeting = opened.greeting
        self.round_trips = 1
        self._mailbox.deliver(list(opened.waiting))

    @classmethod
    def open(
        cls, stream: ByteStream, bundle: bytes, timeout_s: float, silence_s: float = SILENCE_S, *, become: bool = False
    ) -> Self:
        """Send the node program and return the session when it greets; the stream is closed when it does not.

        `become`: it is started through sudo. Raise ConnectionFailure.
        """
        try:
            return cls(stream, open_program(stream, bundle, timeout_s, become=become), silence_s)
        except BaseException:
            stream.close()
            raise

    @property
    def execs(self) -> int:
        return self._stream.execs

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, queries: Sequence[Query], timeout_s: float = ASK_TIMEOUT_S) -> dict[Query, Answer]:
        """Return the answers, in one round trip; a query that is given twice is asked once. Raise ConnectionLost.

        What is not answered within `timeout_s` is Failed, and keeps no other query from its answer.
        """
        unique = tuple(dict.fromkeys(queries))
        if not unique:
            return {}
        return self._read(lambda reply: wire.answers(unique, reply), self._exchange(wire.ask(unique, timeout_s)))

    def start(self, work: Work) -> Started | NotStarted:
        """Start a job, or return NotStarted; a job of that name that was started already is not started again."""
        reply = self._exchange(wire.start(work))
        if "not_started" in reply or "error" in reply:
            return NotStarted(str(reply.get("not_started") or reply.get("error")))
        return self._read(_started, reply)

    def watch(
        self, name: str, on_output: Callable[[bytes], None], *, offset: int = 0, patience_s: float | None = None
    ) -> Ending:
        """Give the job's output from byte `offset` on to `on_output` as it comes, and return how the job ended.

        Where a stream was too long to be kept or sent whole, a line says how much is missing. A job that has not ended
        after `patience_s` is Lost: its supervisor is stopped, or waits for ever. Raise ConnectionLost.
        """
        number = self._post({"watch": {"job": name, "offset": offset}})
        until = None if patience_s is None else time.monotonic() + patience_s
        try:
            while True:
                reply = self._mailbox.take(number, until)
                if reply is None:
                    return Lost("the node did not say so, long after the time limit; " + _STUCK)
                if "error" in reply:
                    return Lost(str(reply["error"]))
                if "ending" in reply:
                    return self._read(lambda it: wire.ending(it["ending"]), reply)
                missing, data = self._read(_output, reply)
                if missing:
                    on_output(b"\n[stackplan: %d bytes of output are missing here]\n" % missing)
                if data:
                    on_output(data)
        finally:
            self._mailbox.close_box(number)

    def terminate(self, name: str, grace_s: float = 10.0) -> None:
        """Ask for the end of a job: TERM first, KILL after `grace_s`; a watch tells how it ended."""
        self._exchange({"terminate": {"job": name, "grace_s": grace_s}})

    def find(self, name: str) -> Whereabouts:
        """Return what became of a job that may have been started. Raise ConnectionLost, NodeProgramFailed."""
        reply = self._exchange({"find": {"job": name}})
        if "error" in reply:
            raise NodeProgramFailed(str(reply["error"]))
        return self._read(_found, reply)

    def lock(self, owner: LockOwner, began: Mapping[str, object] | None = None, *, again: bool = False) -> str | None:
        """Hold the node for a run until nothing of it is alive there. Raise Locked, LeftOver, NodeProgramFailed.

        `began` is what the node's history is to say of it; return why that could not be written, or None. `again`: it
        was held before this connection; raise LockBroken where somebody broke it meanwhile.
        """
        record = {} if began is None else {"record": dict(began)}
        reply = self._exchange({"lock": owner.plain(), **record, **({"again": True} if again else {})})
        if "held_by" in reply:
            raise self._read(_locked, reply)
        if "broken_by" in reply:
            raise LockBroken(_who(reply["broken_by"]))
        if "left_over" in reply:
            raise self._read(_left_over, reply)
        if "locked" not in reply:
            why = reply.get("error") or "the node program did not say whether it holds the lock"
            remedy = reply.get("remedy")
            raise NodeProgramFailed(str(why), str(remedy) if remedy else None)
        return _unrecorded(reply)

    def record(self, entry: Mapping[str, object]) -> str | None:
        """Add an entry to the node's history; return why it could not be written, or None. Raise ConnectionLost."""
        return _unrecorded(self._exchange({"record": dict(entry)}))

    def holders(self) -> Holders:
        """Return who holds the node and what lives there of runs; nothing is changed. Raise ConnectionLost."""
        reply = self._exchange({"holders": {}})
        if "error" in reply:
            raise NodeProgramFailed(str(reply["error"]))
        return self._read(_holders, reply)

    def break_lock(self, by: Mapping[str, str], grace_s: float | None) -> None:
        """Ask everything that holds the node to end, and KILL after `grace_s`; None: KILL now. `holders` tells when.

        `by` says who does that, for the run that is ended. Raise ConnectionLost, NodeProgramFailed.
        """
        reply = self._exchange({"break": {"by": dict(by), "grace_s": grace_s}})
        if "error" in reply:
            raise NodeProgramFailed(str(reply["error"]))

    def close(self) -> None:
        """End the node program; jobs go on under their supervisors."""
        self._stream.close()

    def _post(self, request: dict[str, Any]) -> int:
        self.round_trips += 1
        return self._mailbox.post(request)

    def _exchange(self, request: dict[str, Any]) -> dict[str, Any]:
        number = self._post(request)
        try:
            reply = self._mailbox.take(number)
            assert reply is not None  # only a time limit of ours would make it so
            return reply
        finally:
            self._mailbox.close_box(number)

    @staticmethod
    def _read(read: Callable[[dict[str, Any]], T], reply: dict[str, Any]) -> T:
        try:
            return read(reply)
        except wire.ReplyInvalid as error:
            raise ConnectionLost(
                f"what the node program answered cannot be read: {error}: {str(reply)[:200]}"
            ) from error


def _started(reply: dict[str, Any]) -> Started:
    told = reply.get("started")
    if not isinstance(told, dict):
        raise wire.ReplyInvalid("a start was expected")
    pid = told.get("pid")
    return Started(pid if isinstance(pid, int) else None, str(told.get("spool")))


def _locked(reply: dict[str, Any]) -> Locked:
    try:
        return Locked(
            LockOwner.read(reply["held_by"]),
            age_s=number(reply.get("age_s")),
            attended=bool(reply.get("attended", True)),
            jobs=read_jobs(reply.get("jobs")),
        )
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise wire.ReplyInvalid("who holds the node was expected") from error


def _holders(reply: dict[str, Any]) -> Holders:
    try:
        return read_holders(reply["holders"])
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise wire.ReplyInvalid("who holds the node was expected") from error


def _who(by: Any) -> str:
    found = by if isinstance(by, dict) else {}
    return f"{found.get('operator') or 'somebody'} on {found.get('host') or 'another host'}"


def _found(reply: dict[str, Any]) -> Whereabouts:
    try:
        told = reply["found"]
        if "absent" in told:
            return Absent()
        if "running" in told:
            return Running(number(told["running"].get("age_s")))
        if "ended" in told:
            return Ended(wire.ending(told["ended"]))
        vanished = told["vanished"]
        boots = vanished.get("rebooted")
        rebooted = wire.rebooted(boots) if boots else None
        return Vanished(str(vanished["why"]), read_processes(vanished.get("processes")), rebooted)
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise wire.ReplyInvalid("what became of a job was expected") from error


def _unrecorded(reply: dict[str, Any]) -> str | None:
    why = reply.get("unrecorded") or reply.get("error")
    return str(why) if why else None


def _left_over(reply: dict[str, Any]) -> LeftOver:
    told = reply["left_over"]
    try:
        return LeftOver(str(told["job"]), {int(pid): str(name) for pid, name in told["processes"].items()})
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise wire.ReplyInvalid("what an earlier run left behind was expected") from error


def _output(reply: dict[str, Any]) -> tuple[int, bytes]:
    try:
        return int(reply.get("skipped") or 0), base64.b64decode(reply["output"], validate=True)
    except (KeyError, TypeError, ValueError, binascii.Error) as error:
        raise wire.ReplyInvalid("output was expected") from error
