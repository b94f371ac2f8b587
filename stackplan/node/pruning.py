"""Taking away the folders of jobs that ended long ago, when a run takes the node's lock.

A folder goes when its job's end is on record and it is none of the latest KEPT, or older than KEPT_S and none of the
latest KEPT_ALWAYS: a wall clock that jumps ahead must not take away everything. What runs, what ended without a word
and what belongs to the run itself stays. The order is that of the ends on the node's own clock.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import Iterator

from stackplan.node.spool import Spool, state_folder

KEPT = 200
KEPT_ALWAYS = 20
KEPT_S = 30 * 24 * 3600.0
PATIENCE_S = 2.0


def prune(run: str, patience_s: float = PATIENCE_S) -> int:
    """Take old jobs of other runs than `run` away, for `patience_s` at most; return how many. Never raise OSError."""
    deadline = time.monotonic() + patience_s
    removed = 0
    for spool in _old(run):
        if time.monotonic() >= deadline:
            break
        removed += _remove(spool)
    return removed


def _old(run: str) -> Iterator[Spool]:
    """Yield the jobs that may go, the one that ended first at the head."""
    folder = os.path.join(state_folder(), "spool")
    try:
        ended = sorted(_ended(folder), reverse=True)
    except OSError:
        return
    limit = time.time() - KEPT_S
    for index in range(len(ended) - 1, KEPT_ALWAYS - 1, -1):
        at, name = ended[index]
        if index >= KEPT or at < limit:
            spool = _spool(name)
            if spool is not None and not name.startswith(f"{run}.") and not spool.supervised():
                yield spool


def _ended(folder: str) -> Iterator[tuple[float, str]]:
    """Yield the jobs of which the end is on record, with its time."""
    for name in os.listdir(folder):
        with contextlib.suppress(OSError):
            yield os.stat(os.path.join(folder, name, "ending.json")).st_mtime, name


def _spool(name: str) -> Spool | None:
    try:
        return Spool(name)
    except ValueError:
        return None


def _remove(spool: Spool) -> bool:
    """Take a folder away, the word on the job's end last: cut off in the middle, it still tells that it ended."""
    try:
        for name in sorted(os.listdir(spool.path), key=lambda name: name == "ending.json"):
            os.unlink(spool.file(name))
        os.rmdir(spool.path)
    except OSError:
        return False
    return True
