"""Which snapshots of a run a user has on a node, what they are worth, and how what they are of stands against them.

Asked with `{"run", "things": bool}`. Shape: a list, for each thing `{"run", "path", "kind", "complete", "was":
"environment|file|link|absent", "way", "clone", "taken", "files", "steps": [], "restored", "clone_fault": null | "…",
"later": [runs that took a snapshot of it afterwards, which was not put back], "packages": {name: version} | null,
"packages_now": {…} | null, "differences": {"count", "first": []} | null, "since": {"count", "first": []} | null,
"kept": [paths], "full": "folder" | null}`.

`differences` is told with `things` alone: in what the thing differs now from what it was. An environment is compared
entry by entry, and the contents of small files are read. `since`, likewise: in what it differs from what the run and
later ones left of it, null where that is not known; `kept` is where lies what was replaced and is kept for that. `full`
is a folder in which putting back may need room, and in which there is none.
"""

from __future__ import annotations

import os
from typing import Any

from stackplan.node import manifest
from stackplan.node.context import Context, ProbeFailed
from stackplan.node.left import changed_since
from stackplan.node.snapshot import ENVIRONMENT, Refused, Snapshot, all_snapshots, packages, state_of_node

SHOWN = 5
# Less than what a command and its output take.
NO_ROOM = 64 * 1024


def answer(arguments: dict[str, Any], context: Context) -> list[dict[str, Any]]:
    del context
    found = list(all_snapshots(state_of_node()))
    run = arguments["run"]
    try:
        return [_about(it, found, things=bool(arguments.get("things"))) for it in found if it.run == run]
    except OSError as error:
        raise ProbeFailed(f"{error.filename or 'a snapshot'} cannot be looked at: {error.strerror}") from error


def _about(snapshot: Snapshot, every: list[Snapshot], *, things: bool) -> dict[str, Any]:
    told = snapshot.told()
    about: dict[str, Any] = {
        "run": snapshot.run,
        "path": snapshot.path,
        "kind": snapshot.kind,
        "complete": told is not None,
        "steps": snapshot.steps(),
        "restored": snapshot.restored,
        "later": [],
        "differences": None,
        "packages_now": None,
        "clone_fault": None,
        "since": None,
        "kept": snapshot.kept(),
        "full": _full(snapshot),
    }
    for key in ("was", "way", "clone", "taken", "files", "packages"):
        about[key] = None if told is None else told.get(key)
    if told is None:
        return about
    about["later"] = [
        it.run
        for it in every
        if it.path == snapshot.path
        and it.run != snapshot.run
        and not it.restored
        and str((it.told() or {}).get("taken", "")) > told["taken"]
    ]
    try:
        about["clone_fault"] = snapshot.clone_fault(told)
        if things:
            about["differences"] = _differences(snapshot, told)
            since = None if snapshot.restored else changed_since(snapshot)
            about["since"] = None if since is None else _brief(since)
    except Refused as error:
        about["clone_fault"] = str(error)
    if things and snapshot.kind == ENVIRONMENT and os.path.isdir(snapshot.path):
        about["packages_now"] = packages(snapshot.path)
    return about


def _differences(snapshot: Snapshot, told: dict[str, Any]) -> dict[str, Any]:
    lines = snapshot.differences(told)
    if told["was"] == ENVIRONMENT and not lines:
        marked = [entry for entry in snapshot.entries() if entry[manifest.MARK] is not None]
        lines = manifest.contents_differ(snapshot.path, marked, {})
    return _brief(lines)


def _full(snapshot: Snapshot) -> str | None:
    """Return a folder without room: on a full disk a command cannot even say what it lacks."""
    for folder in (os.path.dirname(snapshot.path), snapshot.state):
        try:
            room = os.statvfs(folder)
        except OSError:
            continue
        if room.f_bavail * room.f_frsize < NO_ROOM:
            return folder
    return None


def _brief(lines: list[str]) -> dict[str, Any]:
    return {"count": len(lines), "first": lines[:SHOWN]}
