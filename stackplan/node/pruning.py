"""Taking away what jobs that ended long ago left behind, when a run takes the node's lock.

Of a job the output and whatever else takes room goes when it is none of the latest KEPT, or older than KEPT_S and none
of the latest KEPT_ALWAYS: a wall clock that jumps ahead must not take away everything. That it was started and how it
ended stays on record much longer, for the latest ENDS_KEPT: a run that is taken up again must not start it anew.

What runs, what ended without a word and what belongs to the run itself stays. The order is that of the ends on the
node's own clock.
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
ENDS_KEPT = 5000
PATIENCE_S = 2.0
_RECORD = ("pid", "ending.json")


def prune(run: str, patience_s: float = PATIENCE_S) -> int:
    """Take away what is old of other runs than `run`, for `patience_s` at most; return of how many jobs.

    Never raise OSError.
    """
    deadline = time.monotonic() + patience_s
    pruned = 0
    for spool, record_too in _old(run):
        if time.monotonic() >= deadline:
            break
        pruned += _take_away(spool, () if record_too else _RECORD)
    return pruned


def _old(run: str) -> Iterator[tuple[Spool, bool]]:
    """Yield the jobs of which something may go, and of each whether all of it may.

    The one that ended last comes first: those that ended before it were pruned before.
    """
    folder = os.path.join(state_folder(), "spool")
    try:
        ended = sorted(_ended(folder), reverse=True)
    except OSError:
        return
    limit = time.time() - KEPT_S
    for index in range(KEPT_ALWAYS, len(ended)):
        at, name = ended[index]
        if (index >= KEPT or at < limit) and not name.startswith(f"{run}."):
            spool = _spool(name)
            if spool is not None and not spool.supervised():
                yield spool, index >= ENDS_KEPT


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


def _take_away(spool: Spool, kept: tuple[str, ...]) -> bool:
    """Take all files of a job away but those `kept`, the word on its end last: cut off in the middle, it still stands.

    Return whether there was anything to take.
    """
    try:
        names = [name for name in os.listdir(spool.path) if name not in kept]
        for name in sorted(names, key=lambda name: name == "ending.json"):
            os.unlink(spool.file(name))
        if not kept:
            os.rmdir(spool.path)
    except OSError:
        return False
    return bool(names)
