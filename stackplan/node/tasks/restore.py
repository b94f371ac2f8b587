"""Put back what a run has written, as its snapshots have it."""

from __future__ import annotations

import errno
import os
from typing import Any

from stackplan.node.restoration import restore
from stackplan.node.snapshot import Refused, all_snapshots, held, state_of_node


def perform(arguments: dict[str, Any]) -> int:
    """Put back everything of which `run` has taken a snapshot as this user, and say of each thing what was done.

    Exit status 1: something was not put back, or it is not proven that it is what it was; the others are all the same.
    """
    state = state_of_node()
    with held(state):
        return _restore_all(state, arguments["run"])


def _restore_all(state: str, run: str) -> int:
    status = 0
    for snapshot in all_snapshots(state, run):
        if snapshot.told() is None:
            # Killed while it was taken: the action had not begun, so there is nothing to put back.
            snapshot.discard()
            continue
        try:
            print(restore(snapshot), flush=True)
        except Refused as error:
            print(error, flush=True)
            status = 1
        except OSError as error:
            print(f"{snapshot.path} was not put back: {_why(error, snapshot.path)}", flush=True)
            status = 1
    return status


def _why(error: OSError, path: str) -> str:
    """Return what went wrong, where, and what mends it, in a line."""
    where = os.fsdecode(error.filename2 or error.filename or path)
    what = f"{where}: {error.strerror or error}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        what += f"; make room in {os.path.dirname(where)}, and put it back again"
    elif error.errno == errno.EROFS:
        what += f"; make {os.path.dirname(where)} writable again, and put it back again"
    return what
