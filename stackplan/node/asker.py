"""Queries are answered in worker processes, so that one that hangs or crashes takes no other with it.

A batch has one worker a user to begin with, which answers one query after the other. When a query takes longer than
PATIENCE_S, a further worker goes on with those that wait, while the slow one keeps all the time that the batch has.
"""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import time
import traceback
from typing import Any, NoReturn

from stackplan.node import boot
from stackplan.node.channel import Channel
from stackplan.node.context import CannotTell, Context, ProbeFailed
from stackplan.node.descriptors import close_others, silence
from stackplan.node.frames import Decoder, FrameInvalid, encode
from stackplan.node.identity import NoSuchUser, become, forget_signals, other, sudo_argv
from stackplan.node.processes import descendants, send

PATIENCE_S = 2.0
# How long sudo may take to start a worker, which then says that it is there.
SUDO_PATIENCE_S = 20.0
MOST_WORKERS = 8
LAST_WORDS = 16_384


class NoSuchQuery(LookupError):
    """The node program has no query of that kind."""


def answer(query: dict[str, Any], context: Context) -> dict[str, Any]:
    """Return the answer to one query, whatever happens inside it."""
    kind = str(query.get("kind"))
    try:
        known = {"known": _module(kind).answer(query.get("arguments") or {}, context)}
        encode(known)
    except NoSuchQuery:
        return {"unknown": f"the node program has no query `{kind}`"}
    except CannotTell as error:
        return {"unknown": error.why}
    except ProbeFailed as error:
        # Of a tool that prints without end the last words are enough.
        return {"failed": error.why, "stderr": error.stderr[-LAST_WORDS:]}
    except FrameInvalid as error:
        return {"failed": f"the answer to `{kind}` does not fit: {error.why}"}
    except BaseException as error:  # noqa: BLE001 - no query may take the others with it
        where = traceback.extract_tb(error.__traceback__)[-1]
        last = traceback.format_exception_only(type(error), error)[-1].strip()
        return {"failed": f"the query `{kind}` broke: {last} ({where.filename}:{where.lineno})"}
    return known


def _module(kind: str) -> Any:
    """Return the module of a kind of query. Raise NoSuchQuery, or whatever importing it raises."""
    name = f"stackplan.node.queries.{kind}"
    if not kind.isidentifier() or kind.startswith("_"):
        raise NoSuchQuery(kind)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name == name:
            raise NoSuchQuery(kind) from error
        raise


def work(reader: int, writer: int, waiting: list[Any], pending: bytes) -> NoReturn:
    """Answer the queries that come in frames until no more can come; the worker's side."""
    context = Context()
    decoder = Decoder()
    waiting = [*waiting, *decoder.feed(pending)]
    while True:
        for frame in waiting:
            reply = memoryview(encode({"index": frame["index"], "answer": answer(frame["query"], context)}))
            while reply:
                reply = reply[os.write(writer, reply) :]
        data = os.read(reader, 1 << 16)
        if not data:
            os._exit(0)
        waiting = decoder.feed(data)


class Worker:
    """The program's side of one worker process: at most one query is `asked` of it at a time."""

    def __init__(self, user: str | None) -> None:
        self.user = user
        self.asked: int | None = None
        self.since = time.monotonic()
        self.employed = self.since
        self.ready = user is None or os.geteuid() == 0
        to_worker = os.pipe()
        from_worker = os.pipe()
        complaints = os.pipe()
        if user is not None and os.geteuid() != 0:
            self.pid = self._through_sudo(user, to_worker[0], from_worker[1], complaints[1])
        else:
            self.pid = self._forked(user, to_worker[0], from_worker[1], complaints[1])
        for descriptor in (to_worker[0], from_worker[1], complaints[1]):
            os.close(descriptor)
        self._complaints = complaints[0]
        os.set_blocking(self._complaints, False)
        self.channel = Channel(from_worker[0], to_worker[1])
        if user is not None and os.geteuid() != 0:
            self.channel.send_bytes(boot.bundle(bundled()) + encode({"work": True}))

    @staticmethod
    def _through_sudo(user: str, stdin: int, stdout: int, stderr: int) -> int:
        try:
            return subprocess.Popen(
                sudo_argv(user), stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True
            ).pid
        except OSError as error:
            os.write(stderr, f"sudo cannot be started: {error.strerror}".encode())
            return 0

    @staticmethod
    def _forked(user: str | None, stdin: int, stdout: int, stderr: int) -> int:
        pid = os.fork()
        if pid:
            return pid
        try:
            os.setsid()
            forget_signals()
            os.dup2(stderr, 2)
            close_others({stdin, stdout})
            if user is not None:
                become(user)
            silence()
            work(stdin, stdout, [], b"")
        except BaseException as error:  # noqa: BLE001 - a forked child must never return into the program's loop
            os.write(2, str(error).encode("utf-8", "replace"))
        finally:
            os._exit(1)

    def ask(self, index: int, query: dict[str, Any]) -> None:
        self.asked = index
        self.since = time.monotonic()
        self.channel.send({"index": index, "query": query})

    def complaint(self) -> str:
        """Return what stood in the way when the worker has ended."""
        try:
            said = os.read(self._complaints, 4096).decode("utf-8", "replace").strip()
        except OSError:
            said = ""
        return said or "the process that asked it ended without an answer"

    def dismiss(self, *, by_force: bool = False) -> None:
        """Close the worker's streams, which ends an idle one; by force also what it has started."""
        if by_force and self.pid:
            # A sudo that did not come so far would not help to end anything either.
            send([*descendants(self.pid), self.pid], signal.SIGKILL, self.user if self.ready else None)
        self.channel.close()
        os.close(self._complaints)


class Batch:
    """The queries of one `ask` request on their way to answers."""

    def __init__(
        self, request: Any, queries: list[dict[str, Any]], timeout_s: float, silent_sudo: set[str] | None = None
    ) -> None:
        """`silent_sudo` are the users whom sudo did not let one become or refuse in time; more are added to it."""
        self._silent_sudo = set() if silent_sudo is None else silent_sudo
        self.request = request
        self.queries = queries
        self.timeout_s = timeout_s
        self.deadline = time.monotonic() + timeout_s
        self.answers: list[dict[str, Any] | None] = [None] * len(queries)
        self.workers: list[Worker] = []
        self._waiting: dict[str | None, list[int]] = {}
        for index, query in enumerate(queries):
            try:
                self._waiting.setdefault(other(query.get("user")), []).append(index)
            except NoSuchUser as error:  # noqa: PERF203 - each query may name its own user
                self.answers[index] = {"failed": str(error), "stderr": ""}
        for kind in {str(query.get("kind")) for query in queries}:
            # Imported here once, the workers of this batch and of later ones inherit it.
            _try_import(kind)
        for user in list(self._waiting):
            if user in self._silent_sudo:
                self._give_up_on(user)
            else:
                self._employ(user)

    @property
    def done(self) -> bool:
        return all(it is not None for it in self.answers)

    def _employ(self, user: str | None) -> None:
        worker = Worker(user)
        self.workers.append(worker)
        self._give_next(worker)

    def _give_next(self, worker: Worker) -> None:
        worker.asked = None
        waiting = self._waiting.get(worker.user)
        if waiting:
            index = waiting.pop(0)
            worker.ask(index, self.queries[index])

    def heard(self, worker: Worker) -> None:
        """Take what has come from a worker."""
        try:
            frames = worker.channel.receive()
        except FrameInvalid as error:
            frames, worker.channel.ended = [], True
            self._record(worker.asked, {"failed": error.why, "stderr": ""})
        for frame in frames:
            worker.ready = True
            if "index" in frame:
                self._record(frame["index"], frame["answer"])
                self._give_next(worker)
        if worker.channel.ended:
            self._bury(worker)

    def _record(self, index: int | None, found: dict[str, Any]) -> None:
        if index is not None and self.answers[index] is None:
            self.answers[index] = found

    def _bury(self, worker: Worker) -> None:
        why = worker.complaint()
        self._record(worker.asked, {"failed": why, "stderr": ""})
        worker.dismiss()
        self.workers.remove(worker)
        if self._waiting.get(worker.user):
            self._employ(worker.user)

    def look_at_the_clock(self, now: float) -> float:
        """Help where a query is slow, give up when time is over; return when to look again."""
        if now >= self.deadline:
            self._give_up()
            return now
        again = min(self.deadline, self._look_at_sudo(now))
        for user, waiting in self._waiting.items():
            busy = [worker for worker in self.workers if worker.user == user]
            if not waiting or len(self.workers) >= MOST_WORKERS or not busy or not all(it.ready for it in busy):
                continue
            patience_ends = max(worker.since for worker in busy) + PATIENCE_S
            if now >= patience_ends:
                self._employ(user)
                patience_ends = now + PATIENCE_S
            again = min(again, patience_ends)
        return again

    def _look_at_sudo(self, now: float) -> float:
        """Give up on users for whom sudo neither starts a worker nor refuses; return when to look again."""
        again = self.deadline
        for worker in [it for it in self.workers if not it.ready]:
            patience_ends = worker.employed + SUDO_PATIENCE_S
            if now < patience_ends:
                again = min(again, patience_ends)
                continue
            assert worker.user is not None
            self._silent_sudo.add(worker.user)
            self.workers.remove(worker)
            # Not through sudo, which is what hangs.
            send([*descendants(worker.pid, [worker.pid]), worker.pid], signal.SIGKILL)
            if worker.asked is not None:
                self._waiting.setdefault(worker.user, []).append(worker.asked)
            worker.dismiss()
            self._give_up_on(worker.user)
        return again

    def _give_up_on(self, user: str | None) -> None:
        why = f"sudo did not answer within {SUDO_PATIENCE_S:g} s when asked to become `{user}`"
        for index in self._waiting.pop(user, []):
            self._record(index, {"failed": why, "stderr": ""})

    def _give_up(self) -> None:
        limit = f"{self.timeout_s:g} s"
        for worker in self.workers:
            self._record(worker.asked, {"failed": f"no answer within {limit}", "stderr": ""})
        for index, found in enumerate(self.answers):
            if found is None:
                self.answers[index] = {"failed": f"not asked within {limit}: earlier questions hang", "stderr": ""}

    def close(self) -> None:
        """Dismiss the workers, by force those that are still at a question."""
        for worker in self.workers:
            worker.dismiss(by_force=worker.asked is not None)
        self.workers = []


def bundled() -> dict[str, str]:
    """Return the sources that this program was started from."""
    for finder in sys.meta_path:
        sources = getattr(finder, "sources", None)
        if isinstance(sources, dict) and "stackplan.node.entry" in sources:
            return sources
    raise RuntimeError("the node program was not started from a bundle")


def _try_import(kind: str) -> None:
    try:
        _module(kind)
    except Exception:  # noqa: BLE001 - the worker meets the same error and reports it as the query's answer
        return
