"""The lock of the node: held by every process of one run (the program, the supervisors), shared among them alone.

The file holds the owner as JSON; what counts is the flock, which dies with its last holder. Within one run it is a
shared one, so that a controller that reconnects joins its own supervisor; to any other run it looks exclusive.

A second file is held by the programs alone, so that a run whose controller is gone can be told from one that goes on.

A flock can be outlived by what it protects. So whoever takes a lock that is free looks twice: for supervisors that hold
the lock's file although somebody has deleted it, and for actions that live on although their supervisor was killed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import select
import time
from typing import Any, Iterator

from stackplan.node.obstacle import obstacle
from stackplan.node.processes import living_members, name_of
from stackplan.node.spool import abandoned, state_folder
from stackplan.node.supervisors import is_ours, open_files

GUARD_PATIENCE_S = 5.0
_ROOM = 16 * 1024
_POLL_S = 0.05


class Held(Exception):
    """Another run holds the lock; `owner` is what it says of itself, `age_s` for how long it has held it.

    `attended`: a program of it is connected to its controller. Else supervisors alone hold the lock.
    """

    def __init__(self, owner: dict[str, Any], age_s: float | None = None, *, attended: bool = True) -> None:
        super().__init__("the node is locked")
        self.owner = owner
        self.age_s = age_s
        self.attended = attended


class Broken(Exception):
    """The lock of this run was broken while it was away; `by` is what whoever broke it says of himself."""

    def __init__(self, by: dict[str, Any]) -> None:
        super().__init__("the lock was broken")
        self.by = by


class LeftOver(Exception):
    """The supervisor of `job` was killed, and what it had started still lives: names by process number."""

    def __init__(self, job: str, processes: dict[int, str]) -> None:
        super().__init__(job)
        self.job = job
        self.processes = processes


class Unusable(Exception):
    """The lock cannot be taken, and no run is to blame."""

    def __init__(self, why: str, remedy: str) -> None:
        super().__init__(why)
        self.why = why
        self.remedy = remedy


def take(owner: dict[str, Any], *, again: bool = False) -> int:
    """Take the lock for a run, or join the others of that run; return the descriptor that holds it.

    `again`: the controller held it before and lost its connection, so that a lock that was broken meanwhile is refused.
    Children inherit the descriptor by fork; a program that is started does not. Raise Held, LeftOver, Broken, Unusable.
    """
    folder = state_folder()
    path = os.path.join(folder, "lock")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            with _guarded(folder):
                _take(descriptor, path, owner, again=again)
        except BaseException:
            os.close(descriptor)
            raise
    except OSError as error:
        raise Unusable(*obstacle(error, path)) from error
    return descriptor


def attend() -> int:
    """Return a descriptor that tells others, as long as it is open, that the run's controller is connected.

    To be called by whoever holds the lock. Supervisors must not inherit it. Raise Unusable.
    """
    path = attendance_path()
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    except OSError as error:
        raise Unusable(*obstacle(error, path)) from error
    return descriptor


def attendance_path() -> str:
    return os.path.join(state_folder(), "lock.program")


def _attended() -> bool:
    """Tell whether a program holds the lock. Only to be asked under the guard: the look itself is a short flock."""
    try:
        descriptor = os.open(attendance_path(), os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not _free(descriptor)
    finally:
        os.close(descriptor)


def mark_broken(run: str, by: dict[str, Any]) -> None:
    """Note that the lock of `run` is being broken, so that its controller does not take it up again. Raise OSError."""
    with open(_broken_path(), "w", encoding="ascii") as file:
        json.dump({"run": run, "by": by}, file)


def _broken_path() -> str:
    return os.path.join(state_folder(), "lock.broken")


def _refuse_broken(owner: dict[str, Any], *, again: bool) -> None:
    """Raise Broken for a run whose lock was broken and that comes back to it; whoever comes anew may have it."""
    try:
        with open(_broken_path(), encoding="ascii") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return
    if isinstance(found, dict) and found.get("run") == owner.get("run"):
        if again:
            raise Broken(dict(found.get("by") or {}))
        with contextlib.suppress(OSError):
            os.unlink(_broken_path())


def _take(descriptor: int, path: str, owner: dict[str, Any], *, again: bool) -> None:
    _refuse_broken(owner, again=again)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        found = read_owner(descriptor)
        if found.get("run") != owner.get("run"):
            raise Held(found, age_s(descriptor), attended=_attended()) from None
    else:
        for found in _owners_of_the_deleted(path):
            if found.get("run") != owner.get("run"):
                raise Held(found)
        _refuse_left_overs(owner)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(owner).encode("ascii"), 0)
    fcntl.flock(descriptor, fcntl.LOCK_SH)


def age_s(descriptor: int) -> float:
    """Return for how long the lock has been held, by the node's own clock: whoever takes it writes the file."""
    return max(0.0, time.time() - os.fstat(descriptor).st_mtime)


def holder() -> tuple[dict[str, Any] | None, float | None]:
    """Return what the holder of the lock says of itself and for how long it has had it; None where nobody holds it.

    Who holds a lock's file that was deleted holds it, too. Nothing is written, so that also a disk that takes no writes
    can be asked. Raise Unusable.
    """
    path = os.path.join(state_folder(), "lock")
    try:
        descriptor = _open_to_look(path)
    except FileNotFoundError:
        return next(_owners_of_the_deleted(path), None), None
    except OSError as error:
        raise Unusable(*obstacle(error, path)) from error
    try:
        with _looked_at(state_folder()):
            if not _free(descriptor):
                return read_owner(descriptor), age_s(descriptor)
    except OSError as error:
        raise Unusable(*obstacle(error, path)) from error
    finally:
        os.close(descriptor)
    return next(_owners_of_the_deleted(path), None), None


def attending() -> list[int]:
    """Return the programs, this one apart, that are connected to a controller whose run holds the lock, or held it."""
    path = os.path.realpath(attendance_path())
    deleted = f"{path} (deleted)"
    return [
        int(pid)
        for pid in os.listdir("/proc")
        if pid.isdigit() and int(pid) != os.getpid() and is_ours(pid) and {path, deleted} & set(open_files(pid))
    ]


def read_owner(descriptor: int) -> dict[str, Any]:
    """Return what the lock's file says of its owner; empty when it says nothing that can be read."""
    try:
        found = json.loads(os.pread(descriptor, _ROOM, 0))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _refuse_left_overs(owner: dict[str, Any]) -> None:
    """Raise LeftOver where an action of another run still lives without its supervisor."""
    own = f"{owner.get('run')}."
    for job, sessions in abandoned():
        processes = living_members(sessions)
        if processes and not job.startswith(own):
            raise LeftOver(job, processes)


def _owners_of_the_deleted(path: str) -> Iterator[dict[str, Any]]:
    """Yield what the lock's file said to whoever still holds one that was deleted (`rm -rf ~/.local`)."""
    gone = f"{os.path.realpath(path)} (deleted)"
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid() and is_ours(entry):
            place = open_files(entry).get(gone)
            if place is not None:
                with contextlib.suppress(OSError):
                    descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
                    try:
                        yield read_owner(descriptor)
                    finally:
                        os.close(descriptor)


def _open_to_look(path: str) -> int:
    """Open the lock's file: to be written, without which NFS locks nothing, or else to be read. Raise OSError."""
    try:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        if error.errno != errno.EROFS:
            raise
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


@contextlib.contextmanager
def _looked_at(folder: str) -> Iterator[None]:
    """Keep others out while the lock is only looked at; where nothing can be written, nobody can take it either."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(_guarded(folder))
        except OSError as error:
            if error.errno != errno.EROFS:
                raise Unusable(*obstacle(error, os.path.join(folder, "lock.guard"))) from error
        yield


@contextlib.contextmanager
def _guarded(folder: str) -> Iterator[None]:
    """Keep others out while the lock changes between exclusive and shared, which is no single act. Raise Unusable."""
    path = os.path.join(folder, "lock.guard")
    guard = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _wait_for(guard, path)
        yield
    finally:
        os.close(guard)


def _wait_for(guard: int, path: str) -> None:
    """Take the guard, which nobody holds for longer than a moment. Raise Unusable where somebody does."""
    deadline = time.monotonic() + GUARD_PATIENCE_S
    while not _free(guard):
        if time.monotonic() >= deadline:
            raise Unusable(
                f"{path} has been held for {GUARD_PATIENCE_S:g} s by {_holder(guard)}",
                "end that process on the node; it is stopped, or waits for a disk that is gone",
            )
        select.select([], [], [], _POLL_S)


def _free(guard: int) -> bool:
    try:
        fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(descriptor: int) -> str:
    """Return who holds the flock of an open file, as /proc/locks has it.

    1: FLOCK  ADVISORY  WRITE 4711 08:01:1583 0 EOF
    """
    inode = str(os.fstat(descriptor).st_ino)
    try:
        with open("/proc/locks", encoding="ascii") as file:
            rows = [line.split() for line in file]
    except OSError:
        rows = []
    for row in rows:
        if len(row) > 5 and "->" not in row and row[1] == "FLOCK" and row[5].rpartition(":")[2] == inode:
            return f"process {row[4]} ({name_of(int(row[4])) or 'of another name space'})"
    return "another process"
