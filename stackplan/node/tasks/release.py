"""Remove the snapshots of what a run has not changed after all."""

from __future__ import annotations

from typing import Any

from stackplan.node.snapshot import Refused, Snapshot, held, place


def perform(arguments: dict[str, Any]) -> int:
    """Remove of each of `things` the snapshot that `run` has taken, if the thing is what it was.

    A snapshot too many does no harm, so nothing that stands in the way is a failure.
    """
    for thing in arguments["things"]:
        snapshot = Snapshot(arguments["state"], arguments["run"], thing["kind"], place(thing["kind"], thing["path"]))
        try:
            with held(arguments["state"]):
                if not snapshot.restoring and snapshot.unchanged():
                    snapshot.discard()
                    print(f"{snapshot.path} was not changed; its snapshot was removed", flush=True)
        except (Refused, OSError) as error:
            print(f"the snapshot of {snapshot.path} stays: {error}", flush=True)
    return 0
