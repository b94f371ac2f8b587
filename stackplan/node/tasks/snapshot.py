"""Take the snapshots of what the stages after this one are going to write."""

from __future__ import annotations

from typing import Any

from stackplan.node.reserve import set_aside
from stackplan.node.restoration import restore
from stackplan.node.snapshot import Refused, Snapshot, held, place, prune


def perform(arguments: dict[str, Any]) -> int:
    """Take a snapshot of each of `things` (`kind`, `path`) for `run`, below the folder `state`, and prune older ones.

    Those of the run that are there stay as they are; what was being put back is put back to the end first. Exit status
    1: one cannot be taken, and nothing else is to run.
    """
    state, run = arguments["state"], arguments["run"]
    for thing in arguments["things"]:
        path = place(thing["kind"], thing["path"])
        try:
            with held(state):
                _take(Snapshot(state, run, thing["kind"], path), arguments["step"])
                set_aside(state)
        except Refused as error:
            print(f"no snapshot can be taken: {error}", flush=True)
            return 1
        except OSError as error:
            print(f"no snapshot of {path} can be taken: {error.filename or path}: {error.strerror}", flush=True)
            return 1
    return 0


def _take(snapshot: Snapshot, step: str) -> None:
    if snapshot.restoring and not snapshot.restored:
        print(restore(snapshot), flush=True)
    print(snapshot.take(step), flush=True)
    for run in prune(snapshot):
        print(f"the snapshot of {snapshot.path} from run {run} was removed", flush=True)
