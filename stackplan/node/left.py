"""What a run left of a thing that it wrote, and what became of that since: by others, of whom no snapshot tells.

The note `left` of a snapshot is a manifest, without contents of an environment's files, of what stood there after the
run's last action on it; its first entry is the thing itself, and without any entry there was nothing. An action that
begins takes the note away, so that one which never ended leaves none.
"""

from __future__ import annotations

import os

from stackplan.node import manifest
from stackplan.node.snapshot import ENVIRONMENT, Refused, Snapshot, all_snapshots, own, write_bytes


def note(snapshot: Snapshot) -> None:
    """Note what the run left of the thing. Raise OSError."""
    write_bytes(snapshot.file("left"), manifest.encode(_standing(snapshot)))


def changed_since(snapshot: Snapshot) -> list[str] | None:
    """Return in what the thing differs from what runs left of it, each line once; None where that is not known.

    What later runs found is held against what the one before left; what stands there now, against what the last left.
    """
    try:
        found = _differences(snapshot)
    except (Refused, OSError):
        return None
    return None if found is None else [_named(snapshot.path, line) for line in dict.fromkeys(found)]


def _differences(snapshot: Snapshot) -> list[str] | None:
    later = [
        it
        for it in all_snapshots(snapshot.state)
        # What was put back already is what it was when its run began; that run has left nothing.
        if it.path == snapshot.path and it.run != snapshot.run and _taken(it) > _taken(snapshot) and not it.restored
    ]
    found: list[str] = []
    left = _left(snapshot)
    for it in sorted(later, key=_taken):
        if left is None:
            return None
        found += manifest.differences(left, _before(it), inodes=False)
        left = _left(it)
    return None if left is None else [*found, *manifest.differences(left, _standing(snapshot), inodes=False)]


def _taken(snapshot: Snapshot) -> str:
    return str((snapshot.told() or {}).get("taken", ""))


def _left(snapshot: Snapshot) -> list[manifest.Entry] | None:
    try:
        with open(snapshot.file("left"), "rb") as file:
            return manifest.decode(file.read())
    except (OSError, ValueError):
        return None


def _before(snapshot: Snapshot) -> list[manifest.Entry]:
    """Return what stood there when the snapshot was taken."""
    told = snapshot.told() or {}
    if told.get("was") == "absent":
        return []
    if told.get("was") == ENVIRONMENT:
        return [manifest.entry_of("", str(told["clone"]), os.lstat(str(told["clone"]))), *snapshot.entries()]
    return [told["entry"]]


def _standing(snapshot: Snapshot) -> list[manifest.Entry]:
    """Return what stands at the path now, the thing itself first; nothing where it is not there."""
    if not os.path.lexists(snapshot.path):
        return []
    top = manifest.entry_of("", snapshot.path, os.lstat(snapshot.path))
    if snapshot.kind == ENVIRONMENT:
        # The environment may be the place behind a link, so that this is never one.
        return [top, *(manifest.describe(snapshot.path, own) if os.path.isdir(snapshot.path) else ())]
    if top[manifest.TYPE] == "file":
        top[manifest.MARK] = manifest.digest(snapshot.path)
    return [top]


def _named(path: str, line: str) -> str:
    """Return a line that begins with a name: that of the thing itself is empty in a manifest."""
    return f"{path}{line}" if line.startswith((" ", ":")) else line
