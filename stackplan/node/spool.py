"""The folder of a job on the node: what is known of it, its output, and how it ended.

$XDG_STATE_HOME/stackplan/HOST/spool/JOB/        0700; HOST because homes are shared between nodes over NFS
    alive          its flock is held by the supervisor as long as that lives
    job.json       what runs, without environment, standard input or arguments of tasks: those may hold secrets
    pid            the supervisor's, written before anything is started
    sessions       of each stage its process, which leads a session, and when that was started; written by it itself
    output[.N]     the output in segments; the first and the last ones are kept
    ending.json    renamed into place last; its room is taken beforehand, so that a full disk cannot keep it out
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import select
import time
from typing import Any, Iterator

from stackplan.node.identity import home
from stackplan.node.mask import Mask
from stackplan.node.processes import started

SEGMENT = 8 * 1024 * 1024
FIRST_SEGMENTS = 4
LAST_SEGMENTS = 4
_ENDING_ROOM = 4096
_SESSION_ROOM = 32
_LOOK_S = 1.0
_NOLOGIN = 500
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


def state_folder() -> str:
    """Return the folder in which this node's spool and lock lie."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(home(), ".local", "state")
    return os.path.join(state, "stackplan", os.uname().nodename)


def boot_id() -> str:
    """Return the name of the node's present boot, empty where it has none to tell."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


class Spool:
    """One job's folder. Making this object touches nothing."""

    def __init__(self, job: str) -> None:
        if not _NAME.fullmatch(job):
            raise ValueError(f"not a job's name: {job!r}")
        self.job = job
        self.path = os.path.join(state_folder(), "spool", job)

    def file(self, name: str) -> str:
        return os.path.join(self.path, name)

    def make(self, job: dict[str, Any]) -> int | None:
        """Make the folder and return the descriptor whose flock the supervisor is to hold, or None.

        None: the job was started already. Raise OSError when there is no room or no right; what was made is removed.
        """
        os.makedirs(self.path, mode=0o700, exist_ok=True)
        alive = os.open(self.file("alive"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if not self._ours(alive):
            os.close(alive)
            return None
        try:
            record = json.dumps({"boot": boot_id(), "started": time.time(), **job})
            _write(self.file("job.json"), record.encode("ascii"))
            _write(self.file("ending.part"), b" " * _ENDING_ROOM)
            _write(self.file("sessions"), b" " * (_SESSION_ROOM * len(job.get("stages") or ())))
        except OSError:
            os.close(alive)
            self.remove()
            raise
        return alive

    def _ours(self, alive: int) -> bool:
        """Take the flock for a supervisor that is to be started; tell whether there is none yet.

        Who only looks whether a supervisor lives holds it for a moment, too; a supervisor has its number written soon.
        """
        deadline = time.monotonic() + _LOOK_S
        while not _locked(alive):
            if os.path.exists(self.file("pid")) or time.monotonic() >= deadline:
                return False
            select.select([], [], [], 0.002)
        return not os.path.exists(self.file("pid"))

    def remove(self) -> None:
        """Remove the folder of a job that was never started."""
        with contextlib.suppress(OSError):
            for name in os.listdir(self.path):
                os.unlink(self.file(name))
            os.rmdir(self.path)

    def exists(self) -> bool:
        return os.path.isdir(self.path)

    def write_pid(self, pid: int) -> None:
        descriptor = os.open(self.file("pid"), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, b"%d\n" % pid)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def note_session(self, stage: int) -> None:
        """Note that this process leads the session of the stage of that number; its room was taken beforehand."""
        with contextlib.suppress(OSError):
            descriptor = os.open(self.file("sessions"), os.O_WRONLY | os.O_CLOEXEC)
            try:
                line = b"%d %d\n" % (os.getpid(), started(os.getpid()))
                os.pwrite(descriptor, line.rjust(_SESSION_ROOM), stage * _SESSION_ROOM)
            finally:
                os.close(descriptor)

    def sessions(self) -> dict[int, int]:
        """Return the leaders of the stages' sessions, and when each was started."""
        try:
            with open(self.file("sessions"), encoding="ascii") as file:
                words = [int(word) for word in file.read().split()]
        except (OSError, ValueError):
            return {}
        return dict(zip(words[::2], words[1::2]))

    def boot(self) -> str:
        """Return the name of the boot in which the job was started, empty where that is not known."""
        return str(self.record().get("boot") or "")

    def record(self) -> dict[str, Any]:
        """Return what was written of the job when it was started; empty where that cannot be read."""
        try:
            with open(self.file("job.json"), encoding="utf-8") as file:
                found = json.load(file)
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def rebooted(self) -> dict[str, str] | None:
        """Return the boots `before` and `after` where the node was started anew since; None where it was not, or where
        one of the two cannot be told.
        """
        before, now = self.boot(), boot_id()
        return {"before": before, "after": now} if before and now and before != now else None

    def pid(self) -> int | None:
        """Return the supervisor's process number, None when none was started (yet)."""
        try:
            with open(self.file("pid"), encoding="ascii") as file:
                return int(file.read())
        except (OSError, ValueError):
            return None

    def supervised(self) -> bool:
        """Tell whether the supervisor lives, by the flock that dies with it and with nothing else."""
        try:
            alive = os.open(self.file("alive"), os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            return not _locked(alive)
        finally:
            os.close(alive)

    def write_ending(self, ending: dict[str, Any]) -> None:
        """Record how the job ended, into the room that was taken for it, and rename it into place."""
        body = json.dumps(ending).encode("ascii")[:_ENDING_ROOM]
        descriptor = os.open(self.file("ending.part"), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.pwrite(descriptor, body, 0)
            os.ftruncate(descriptor, len(body))
            with contextlib.suppress(OSError):
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.rename(self.file("ending.part"), self.file("ending.json"))

    def ending(self) -> dict[str, Any] | None:
        """Return how the job ended, None when that is not written."""
        try:
            with open(self.file("ending.json"), encoding="ascii") as file:
                found = json.load(file)
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def word_on(self, ending: dict[str, Any] | None) -> dict[str, Any]:
        """Return how the job ended, from what its supervisor wrote of that (None: nothing), once that is gone.

        A job that is to end the boot has done so when there is another one, whatever the shutdown let its supervisor
        write; and has not while there is the same, unless it says itself that it failed.
        """
        ends_boot = bool(self.record().get("ends_boot"))
        if ending is not None and not ends_boot:
            return ending
        boots = self.rebooted()
        if boots is not None:
            return {"rebooted": boots}
        if not ends_boot or (ending is not None and _says_itself(ending)):
            return ending if ending is not None else {"lost": self.why_lost()}
        now = boot_id()
        if not now or not self.boot():
            return {"lost": "the node answers, but its boot id cannot be read"}
        return {"same_boot": now, "says": _nologin()}

    def why_lost(self) -> str:
        """Return why there is neither an ending nor a supervisor."""
        if not self.exists():
            return f"the node has no record of the job {self.job}"
        if self.rebooted() is not None:
            return "the node was restarted while the job ran"
        if self.pid() is None:
            return "the job's supervisor was not started"
        return f"the job's supervisor (process {self.pid()}) was killed; what it had started may still run"


def abandoned() -> Iterator[tuple[str, dict[int, int]]]:
    """Yield the jobs of this boot that have no ending and no supervisor any more, with the sessions of their stages.

    A boot that is not known counts as this one: what lives is told by the processes.
    """
    try:
        names = os.listdir(os.path.join(state_folder(), "spool"))
    except OSError:
        return
    for name in sorted(names):
        if _NAME.fullmatch(name) and not os.path.exists(os.path.join(state_folder(), "spool", name, "ending.json")):
            spool = Spool(name)
            if spool.rebooted() is None and not spool.supervised():
                yield name, spool.sessions()


def _says_itself(ending: dict[str, Any]) -> bool:
    """Tell whether a job that is to end the boot came to an end of its own: what a shutdown ends may yet succeed."""
    return bool(ending.get("exited")) or "timed_out" in ending or "interrupted" in ending


def _nologin() -> str | None:
    """Return what the node tells whoever logs in while it goes down or comes up."""
    try:
        with open("/run/nologin", encoding="utf-8", errors="replace") as file:
            return file.read(_NOLOGIN).strip() or None
    except OSError:
        return None


class OutputWriter:
    """Keeps a stream in segments: the first FIRST_SEGMENTS and the last LAST_SEGMENTS of them. A full disk loses bytes,
    which are counted in `not_kept`, and nothing else.
    """

    def __init__(self, spool: Spool, mask: Mask) -> None:
        self._spool = spool
        self._mask = mask
        self._index = -1
        self._descriptor = -1
        self._room = 0
        self.not_kept = 0
        self.why_not = ""

    def write(self, data: bytes) -> None:
        self._keep(self._mask.feed(data))

    def _keep(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            try:
                if not self._room:
                    self._next_segment()
                written = os.write(self._descriptor, view[: self._room])
            except OSError as error:
                self.not_kept += len(view)
                self.why_not = error.strerror or str(error)
                return
            self._room -= written
            view = view[written:]

    def _next_segment(self) -> None:
        path = self._spool.file(segment_name(self._index + 1))
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        self._leave_segment()
        self._descriptor, self._room = descriptor, SEGMENT
        self._index += 1
        old = self._index - LAST_SEGMENTS
        if old >= FIRST_SEGMENTS:
            with contextlib.suppress(OSError):
                os.unlink(self._spool.file(segment_name(old)))

    def close(self) -> None:
        self._keep(self._mask.end())
        self._leave_segment()

    def _leave_segment(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def segment_name(index: int) -> str:
    return "output" if index == 0 else f"output.{index}"


class OutputReader:
    """Reads what an OutputWriter keeps, from an offset in the whole stream."""

    def __init__(self, spool: Spool, offset: int) -> None:
        self._spool = spool
        self.offset = offset

    def size(self) -> int:
        """Return how long the stream is so far."""
        last = max(self._segments(), default=None)
        if last is None:
            return 0
        try:
            return last * SEGMENT + os.stat(self._spool.file(segment_name(last))).st_size
        except FileNotFoundError:
            return self.size()

    def _segments(self) -> Iterator[int]:
        with contextlib.suppress(FileNotFoundError):
            for name in os.listdir(self._spool.path):
                if name == "output":
                    yield 0
                elif name.startswith("output.") and name[7:].isdigit():
                    yield int(name[7:])

    def read(self, size: int) -> tuple[int, bytes]:
        """Return how many bytes were skipped because they are gone, and the next ones, up to `size`; move on past both.

        Nothing and nothing: the end, for now.
        """
        index, within = divmod(self.offset, SEGMENT)
        data = self._segment(index, within, size)
        if data:
            self.offset += len(data)
            return 0, data
        if data is not None and within < SEGMENT and self.size() <= self.offset:
            return 0, b""
        later = [segment for segment in self._segments() if segment > index]
        if not later:
            return 0, b""
        skipped = min(later) * SEGMENT - self.offset
        self.offset += skipped
        data = self._segment(min(later), 0, size) or b""
        self.offset += len(data)
        return skipped, data

    def _segment(self, index: int, within: int, size: int) -> bytes | None:
        try:
            descriptor = os.open(self._spool.file(segment_name(index)), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            return os.pread(descriptor, min(size, SEGMENT - within), within)
        finally:
            os.close(descriptor)


def _locked(descriptor: int) -> bool:
    """Try to take the flock; tell whether it is held now."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _write(path: str, content: bytes) -> None:
    """Write a whole private file and have it on the disk. Raise OSError when there is no room for it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a filesystem without fsync
            raise
    finally:
        os.close(descriptor)
