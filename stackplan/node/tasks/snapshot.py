"""Take the snapshots of what the stages after this one are going to write."""

from __future__ import annotations

from typing import Any

from stackplan.node.snapshot import Refused, Snapshot, place, prune


def perform(arguments: dict[str, Any]) -> int:
    """Take a snapshot of each of `things` (`kind`, `path`) for `run`, below the folder `state`, and prune older ones.

    Those of the run that are there stay as they are. Exit status 1: one cannot be taken, and nothing else is to run.
    """
    for thing in arguments["things"]:
        path = place(thing["kind"], thing["path"])
        snapshot = Snapshot(arguments["state"], arguments["run"], thing["kind"], path)
        try:
            print(snapshot.take(arguments["step"]), flush=True)
            for run in prune(snapshot):
                print(f"the snapshot of {path} from run {run} was removed", flush=True)
        except Refused as error:
            print(f"no snapshot can be taken: {error}", flush=True)
            return 1
        except OSError as error:
            print(f"no snapshot of {path} can be taken: {error.filename or path}: {error.strerror}", flush=True)
            return 1
    return 0
