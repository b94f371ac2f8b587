"""What a snapshot of a thing would take, and whether there is room for it; nothing is written to find that out.

Asked with `{"run", "kind": "environment|file", "path"}`. Shape: `{"path", "state", "was": "environment|file|link|
absent|other", "kept": bool, "way": "reflink|hard links|copy" | null, "size_bytes", "rooms": [{"place", "device",
"needed_bytes", "free_bytes", "needed_files", "free_files"}]}`. `kept`: the run has a snapshot of it
already. `size_bytes` is 0 of a file, and what it needs is told in whole blocks: it may hold a secret. `free_files` is
null where the filesystem keeps no such count. `state` is where the user's snapshots are noted.
"""

from __future__ import annotations

import fcntl
import os
import stat
from typing import Any

from stackplan.node import manifest
from stackplan.node.clone import COPY, FICLONE, LINK, REFLINK, WITHOUT_LINKS, linkable
from stackplan.node.context import Context, ProbeFailed
from stackplan.node.snapshot import ENVIRONMENT, Snapshot, may_stand_beside, own, place, state_of_node

# A block for a folder or a link, a line of the manifest, and the notes of a snapshot.
_BLOCK, _LINE, _NOTES = 4096, 256, 64 * 1024


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    kind = arguments["kind"]
    path = place(kind, context.expand(arguments["path"]))
    snapshot = Snapshot(state_of_node(), arguments["run"], kind, path)
    kept = snapshot.told() is not None and not snapshot.restored
    told: dict[str, Any] = {
        "path": path,
        "state": snapshot.state,
        "kept": kept,
        "way": None,
        "size_bytes": 0,
        "rooms": [],
    }
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return {**told, "was": "absent"}
    except OSError as error:
        raise ProbeFailed(f"cannot look at {path}: {error.strerror}") from error
    found = manifest.type_of(status)
    told["was"] = {"folder": ENVIRONMENT}.get(found, found)
    if kept:
        return told
    try:
        if kind == ENVIRONMENT and found == "folder":
            return {**told, **_environment(path, snapshot)}
    except OSError as error:
        raise ProbeFailed(f"{error.filename or path} cannot be looked at: {error.strerror}") from error
    size = _blocks(status.st_size) if stat.S_ISREG(status.st_mode) else 0
    return {**told, "way": COPY, "rooms": _rooms([(snapshot.state, size + _NOTES, 6)])}


def _blocks(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


def _environment(path: str, snapshot: Snapshot) -> dict[str, Any]:
    where = os.path.dirname(path) if may_stand_beside(path) else path
    entries = manifest.describe(path, own)
    files = [entry for entry in entries if entry[manifest.TYPE] == "file"]
    size = sum(entry[manifest.SIZE] for entry in files)
    way = _way(path, where, files)
    copied = files if way == COPY else []
    if way == LINK:
        records = manifest.vouched(path, entries)
        copied = [entry for entry in files if not linkable(entry[manifest.PATH], entry[manifest.SIZE], records)]
    made = len(entries) - len(files) + len(files if way == REFLINK else copied)
    blocks = sum(_blocks(entry[manifest.SIZE]) for entry in copied)
    needed = blocks + (len(entries) - len(files)) * _BLOCK
    rooms = [(where, needed, made), (snapshot.state, len(entries) * _LINE + _NOTES, 6)]
    return {"way": way, "size_bytes": size, "rooms": _rooms(rooms)}


def _way(path: str, where: str, files: list[manifest.Entry]) -> str:
    """Return the cheapest way in which files of the environment can be taken over to `where`."""
    for entry in files:
        if entry[manifest.SIZE] > 0:
            if _shares(os.path.join(path, entry[manifest.PATH]), where):
                return REFLINK
            break
    return COPY if _filesystem(where) in WITHOUT_LINKS else LINK


def _shares(source: str, folder: str) -> bool:
    """Tell whether the filesystem shares blocks, by a file without a name, of which nothing stays."""
    try:
        target = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError:
        return False
    try:
        with open(source, "rb") as reader:
            fcntl.ioctl(target, FICLONE, reader.fileno())
    except OSError:
        return False
    finally:
        os.close(target)
    return True


def _filesystem(path: str) -> str:
    """Return the type of the filesystem that holds `path`, empty where the kernel does not tell."""
    device = os.stat(path).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                before, _, after = line.partition(" - ")
                if before.split()[2] == number:
                    return after.split()[0]
    except (OSError, IndexError):
        pass
    return ""


def _rooms(wanted: list[tuple[str, int, int]]) -> list[dict[str, Any]]:
    """Return what is needed and free by filesystem; of two places on one the needs count together."""
    rooms: dict[int, dict[str, Any]] = {}
    for place_, needed, files in wanted:
        nearest = _nearest(place_)
        room = os.statvfs(nearest)
        free_files = room.f_favail if room.f_files else None
        device = os.stat(nearest).st_dev
        new = {"place": place_, "device": device, "needed_bytes": 0, "needed_files": 0}
        new.update(free_bytes=room.f_bavail * room.f_frsize, free_files=free_files)
        found = rooms.setdefault(device, new)
        found["needed_bytes"] += needed
        found["needed_files"] += files
    return list(rooms.values())


def _nearest(path: str) -> str:
    while not os.path.exists(path) and path != "/":
        path = os.path.dirname(path)
    return path
