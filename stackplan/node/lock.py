"""The lock of the node: held by every process of one run (the program, the supervisors), shared among them alone.

The file holds the owner as JSON; what counts is the flock, which dies with its last holder. Within one run it is a
shared one, so that a controller that reconnects joins its own supervisor; to any other run it looks exclusive.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from typing import Any, Iterator

from stackplan.node.spool import state_folder

_ROOM = 16 * 1024


class Held(Exception):
    """Another run holds the lock; `owner` is what it says of itself."""

    def __init__(self, owner: dict[str, Any]) -> None:
        super().__init__("the node is locked")
        self.owner = owner


def take(owner: dict[str, Any]) -> int:
    """Take the lock for a run, or join the others of that run; return the descriptor that holds it. Raise Held.

    Children inherit the descriptor by fork; a program that is started does not.
    """
    folder = state_folder()
    os.makedirs(folder, mode=0o700, exist_ok=True)
    descriptor = os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        with _guarded(folder):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                found = read_owner(descriptor)
                if found.get("run") != owner.get("run"):
                    raise Held(found) from None
            else:
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, json.dumps(owner).encode("ascii"), 0)
            fcntl.flock(descriptor, fcntl.LOCK_SH)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_owner(descriptor: int) -> dict[str, Any]:
    """Return what the lock's file says of its owner; empty when it says nothing that can be read."""
    try:
        found = json.loads(os.pread(descriptor, _ROOM, 0))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


@contextlib.contextmanager
def _guarded(folder: str) -> Iterator[None]:
    """Keep others out while the lock changes between exclusive and shared, which is no single act."""
    guard = os.open(os.path.join(folder, "lock.guard"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(guard, fcntl.LOCK_EX)
        yield
    finally:
        os.close(guard)
