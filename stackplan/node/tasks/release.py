"""Remove the snapshots of what a run has not changed after all, and note what it left of the rest."""

from __future__ import annotations

from typing import Any

from stackplan.node.left import note
from stackplan.node.snapshot import Refused, Snapshot, held, place


def perform(arguments: dict[str, Any]) -> int:
    """Remove of each of `things` the snapshot that `run` has taken, if the thing is what it was; else note what it is.

    A snapshot too many does no harm, so nothing that stands in the way is a failure.
    """
    for thing in arguments["things"]:
        snapshot = Snapshot(arguments["state"], arguments["run"], thing["kind"], place(thing["kind"], thing["path"]))
        try:
            with held(arguments["state"]):
                if snapshot.restoring or snapshot.told() is None:
                    continue
                if snapshot.unchanged():
                    snapshot.discard()
                    print(f"{snapshot.path} was not changed; its snapshot was removed", flush=True)
                else:
                    note(snapshot)
        except (Refused, OSError) as error:
            print(f"the snapshot of {snapshot.path} stays: {error}", flush=True)
    return 0
