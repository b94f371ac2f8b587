"""The node program's loop: takes requests from the controller, answers them, and ends when the controller is gone.

One process, one thread. What can hang runs elsewhere: queries in workers (`asker`), jobs under a supervisor.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from typing import Any, Callable, NoReturn

from stackplan.node.asker import Batch
from stackplan.node.channel import Channel
from stackplan.node.descriptors import silence
from stackplan.node.frames import FrameInvalid
from stackplan.node.identity import greeting
from stackplan.node.lock import Broken, Held, LeftOver, Unusable, attend, take
from stackplan.node.obstacle import obstacle

# While a request is open, the controller hears from the program at least this often: silence means a lost connection.
HEARTBEAT_S = 5.0
_IDLE_S = 60.0
_BACKLOG = 1024 * 1024
# Requests of which more counts than what stands under their word.
_WHOLE = ("ask", "lock")


def serve(hello: dict[str, Any], waiting: list[Any], pending: bytes) -> NoReturn:
    """Print the nonce, greet, and serve requests until the standard input ends."""
    reader, writer = os.dup(0), os.dup(1)
    silence()
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    channel = Channel(reader, writer)
    channel.send_bytes(b"\n%s\n" % str(hello["hello"]["nonce"]).encode("ascii"))
    channel.send({"id": hello["id"], "greeting": greeting()})
    program = Program(channel)
    program.run([*waiting, *channel.feed(pending)])
    sys.exit(0)


class Program:
    """The requests that are open: batches of queries, watches; and the lock that this run holds."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._batches: list[Batch] = []
        self._watchers: list[Any] = []
        self._locks: list[int] = []
        self._attendance: list[int] = []
        self._silent_sudo: set[str] = set()
        self._spoken = time.monotonic()
        self._answers: dict[str, Callable[[Any, dict[str, Any]], None]] = {
            "ask": self._ask,
            "start": self._start,
            "watch": self._watch,
            "terminate": self._terminate,
            "lock": self._lock,
            "record": self._record,
            "find": self._find,
            "holders": self._holders,
            "break": self._break,
        }

    def run(self, requests: list[Any]) -> None:
        """Serve until the controller is gone."""
        while True:
            for request in requests:
                self._take(request)
            if self._channel.ended:
                break
            again = min(self._tend_batches(), self._tend_watchers(), self._beat())
            requests = self._listen(max(0.0, again - time.monotonic()))
        for batch in self._batches:
            batch.close()

    def _listen(self, timeout_s: float) -> list[Any]:
        """Wait until something comes, can be written, or `timeout_s` have passed; return the requests that came."""
        workers = {worker.channel.reader: (batch, worker) for batch in self._batches for worker in batch.workers}
        unsent = {
            channel.writer: channel
            for channel in (self._channel, *(worker.channel for _, worker in workers.values()))
            if channel.backlog and not channel.ended
        }
        readable, writable, _ = select.select([self._channel.reader, *workers], list(unsent), [], timeout_s)
        for descriptor in writable:
            unsent[descriptor].flush()
        for descriptor in readable:
            if descriptor in workers:
                batch, worker = workers[descriptor]
                batch.heard(worker)
        if self._channel.reader not in readable:
            return []
        try:
            return self._channel.receive()
        except FrameInvalid as error:
            self._send({"id": 0, "error": error.why})
            self._channel.ended = True
            return []

    def _send(self, frame: dict[str, Any]) -> None:
        self._spoken = time.monotonic()
        self._channel.send(frame)

    def _take(self, request: Any) -> None:
        number = request.get("id") if isinstance(request, dict) else None
        try:
            word = next(word for word in self._answers if word in request)
            self._answers[word](number, request if word in _WHOLE else request[word])
        except StopIteration:
            self._send({"id": number, "error": "the node program does not know this request"})
        except Unusable as error:
            self._send({"id": number, "error": error.why, "remedy": error.remedy})
        except OSError as error:
            why, remedy = obstacle(error, "the node")
            self._send({"id": number, "error": why, "remedy": remedy})
        except Exception as error:  # noqa: BLE001 - one request that goes wrong must not end the others
            self._send({"id": number, "error": f"{type(error).__name__}: {error}"})

    def _ask(self, number: Any, request: dict[str, Any]) -> None:
        timeout_s = float(request.get("timeout_s") or 60.0)
        self._batches.append(Batch(number, list(request["ask"]), timeout_s, self._silent_sudo))

    def _start(self, number: Any, job: dict[str, Any]) -> None:
        from stackplan.node.supervisor import CannotStart, start  # noqa: PLC0415 - compiled on the node only when needed

        try:
            started = start(job, self._locks)
        except CannotStart as error:
            self._send({"id": number, "not_started": str(error)})
        except OSError as error:
            self._send({"id": number, "not_started": f"{error.filename or 'the node'}: {error.strerror}"})
        else:
            self._send({"id": number, "started": started})

    def _watch(self, number: Any, request: dict[str, Any]) -> None:
        from stackplan.node.watch import Watcher  # noqa: PLC0415 - see above

        self._watchers.append(Watcher(number, request["job"], int(request.get("offset") or 0)))

    def _terminate(self, number: Any, request: dict[str, Any]) -> None:
        from stackplan.node.supervisor import terminate  # noqa: PLC0415 - see above

        grace_s = request.get("grace_s")
        terminate(request["job"], 10.0 if grace_s is None else float(grace_s))
        self._send({"id": number, "terminating": True})

    def _lock(self, number: Any, request: dict[str, Any]) -> None:
        owner = request["lock"]
        try:
            if not self._locks:
                self._locks.append(take(owner, again=bool(request.get("again"))))
                self._attendance.append(attend())
                self._tidy(str(owner.get("run")))
        except Held as held:
            from stackplan.node.holders import jobs  # noqa: PLC0415 - compiled on the node only when needed

            about = {"age_s": held.age_s, "attended": held.attended, "jobs": jobs(held.owner.get("run"))}
            self._send({"id": number, "held_by": held.owner, **about})
        except Broken as broken:
            self._send({"id": number, "broken_by": broken.by})
        except LeftOver as left:
            self._send({"id": number, "left_over": {"job": left.job, "processes": left.processes}})
        except Unusable as error:
            self._send({"id": number, "error": f"the lock cannot be taken: {error.why}", "remedy": error.remedy})
        else:
            self._send({"id": number, "locked": True, **self._recorded(request.get("record"))})

    def _tidy(self, run: str) -> None:
        """Take away what former runs left here, now that no other run can be writing."""
        from stackplan.node.history import cut_down  # noqa: PLC0415 - compiled on the node only when needed
        from stackplan.node.pruning import prune  # noqa: PLC0415 - see above

        with contextlib.suppress(OSError):
            cut_down()
        prune(run)

    def _record(self, number: Any, entry: dict[str, Any]) -> None:
        self._send({"id": number, "recorded": True, **self._recorded(entry)})

    def _recorded(self, entry: dict[str, Any] | None) -> dict[str, Any]:
        """Add an entry to the node's history; return, for the reply, why that cannot be, or nothing."""
        if entry is None:
            return {}
        from stackplan.node.history import append, history_path  # noqa: PLC0415 - compiled only when needed

        try:
            append(entry)
        except OSError as error:
            return {"unrecorded": obstacle(error, history_path())[0]}
        except ValueError as error:
            return {"unrecorded": str(error)}
        return {}

    def _find(self, number: Any, request: dict[str, Any]) -> None:
        from stackplan.node.holders import whereabouts  # noqa: PLC0415 - compiled on the node only when needed

        self._send({"id": number, "found": whereabouts(str(request["job"]))})

    def _holders(self, number: Any, _request: dict[str, Any]) -> None:
        from stackplan.node.holders import holders  # noqa: PLC0415 - see above

        self._send({"id": number, "holders": holders()})

    def _break(self, number: Any, request: dict[str, Any]) -> None:
        from stackplan.node.holders import end_holders  # noqa: PLC0415 - see above

        grace_s = request.get("grace_s")
        end_holders(dict(request.get("by") or {}), None if grace_s is None else float(grace_s))
        self._send({"id": number, "breaking": True})

    def _tend_batches(self) -> float:
        """Send the batches that are answered; return when to look again."""
        now = time.monotonic()
        again = now + _IDLE_S
        for batch in list(self._batches):
            if not batch.done:
                again = min(again, batch.look_at_the_clock(now))
            if batch.done:
                self._batches.remove(batch)
                self._reply(batch)
                batch.close()
        return again

    def _reply(self, batch: Batch) -> None:
        try:
            self._send({"id": batch.request, "answers": batch.answers})
        except FrameInvalid as error:
            self._send({"id": batch.request, "error": f"the answers do not fit into one frame: {error.why}"})

    def _tend_watchers(self) -> float:
        """Send what the watched jobs have printed, as far as the connection takes it; return when to look again."""
        again = time.monotonic() + _IDLE_S
        for watcher in list(self._watchers):
            if self._channel.backlog > _BACKLOG:
                continue
            if watcher.again <= time.monotonic():
                for frame in watcher.news():
                    self._send(frame)
                    if self._channel.backlog > _BACKLOG:
                        break
            if watcher.done:
                self._watchers.remove(watcher)
            else:
                again = min(again, watcher.again)
        return again

    def _beat(self) -> float:
        """Let the controller hear that the program lives while it waits; return when to do so next."""
        if not self._batches and not self._watchers:
            return time.monotonic() + _IDLE_S
        if time.monotonic() >= self._spoken + HEARTBEAT_S:
            self._send({"id": 0, "alive": True})
        return self._spoken + HEARTBEAT_S
