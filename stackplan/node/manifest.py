"""What a folder holds, entry by entry, and how it differs from what it held: how a clone is proven to be one.

An entry is `[path, type, mode, uid, gid, size, mtime_ns, inode, mark]`, one JSON line each, sorted by path. `mark` is
where a link leads, or the sha256 of a file's content where it was read: of files up to `DIGEST_LIMIT`, and of larger
ones that no RECORD vouches for. Compiled `__pycache__` files come and go by themselves and are not compared.
"""

from __future__ import annotations

import base64
import contextlib
import csv
import hashlib
import json
import os
import re
import stat
from typing import Any, Callable, Iterable, Iterator, List

from stackplan.node.plain_file import RECORD_LIMIT, read_plain
from stackplan.node.record import recorded_rows

DIGEST_LIMIT = 1024 * 1024
PATH, TYPE, MODE, UID, GID, SIZE, MTIME, INODE, MARK = range(9)
Entry = List[Any]
_PACKAGES = re.compile(r"(^|/)(site|dist)-packages$")
_WORDS = {MODE: "mode", UID: "owner", GID: "group", SIZE: "size", MTIME: "time of its last change"}


def nothing(path: str) -> bool:
    """Tell of no path that it is meant."""
    del path
    return False


def walk(root: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield every entry below `root` by its relative path, folders before what is in them, sorted; no link is followed.

    Raise OSError for a folder that cannot be looked into: a part of it would pass for the whole.
    """
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        with os.scandir(os.path.join(root, folder)) as found:
            entries = sorted(found, key=lambda it: it.name)
        below = []
        for entry in entries:
            path = os.path.join(folder, entry.name)
            status = entry.stat(follow_symlinks=False)
            yield path, status
            if stat.S_ISDIR(status.st_mode):
                below.append(path)
        waiting += reversed(below)


def type_of(status: os.stat_result) -> str:
    for test, word in ((stat.S_ISREG, "file"), (stat.S_ISDIR, "folder"), (stat.S_ISLNK, "link")):
        if test(status.st_mode):
            return word
    return "other"


def describe(root: str, skip: Callable[[str], bool] = nothing) -> list[Entry]:
    """Return the entries below `root` without marks, but for where links lead."""
    found = []
    for path, status in walk(root):
        if not skip(path):
            found.append(entry_of(path, os.path.join(root, path), status))
    return found


def entry_of(name: str, path: str, status: os.stat_result) -> Entry:
    """Return the entry of one thing, without a digest."""
    kind = type_of(status)
    # Of a folder size and time say nothing: whatever comes and goes in it moves them.
    size, mtime = (0, 0) if kind == "folder" else (status.st_size, status.st_mtime_ns)
    mark = os.readlink(path) if kind == "link" else None
    return [name, kind, stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid, size, mtime, status.st_ino, mark]


def digest(path: str) -> str:
    found = hashlib.sha256()
    with open(path, "rb") as source:
        for chunk in iter(lambda: source.read(1 << 20), b""):
            found.update(chunk)
    return found.hexdigest()


def vouched(root: str, entries: Iterable[Entry]) -> dict[str, tuple[str, int]]:
    """Return of the files that a RECORD names with digest and size those two, by relative path."""
    found: dict[str, tuple[str, int]] = {}
    for entry in entries:
        folder, _, name = entry[PATH].rpartition("/")
        packages = folder.rpartition("/")[0]
        if name != "RECORD" or not folder.endswith(".dist-info") or not _PACKAGES.search(packages):
            continue
        if entry[TYPE] != "file":
            continue
        text = read_plain(os.path.join(root, entry[PATH]), RECORD_LIMIT).decode("utf-8", "surrogateescape")
        with contextlib.suppress(csv.Error):
            for recorded, stated, size in recorded_rows(text):
                algorithm, _, value = stated.partition("=")
                if algorithm == "sha256" and size.isdigit():
                    found[os.path.normpath(os.path.join(packages, recorded))] = (_hexadecimal(value), int(size))
    return found


def _hexadecimal(value: str) -> str:
    try:
        return base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)).hex()
    except ValueError:
        return ""


def mark(root: str, entries: Iterable[Entry], records: dict[str, tuple[str, int]]) -> None:
    """Lay the digests into the entries of those files that are small or that no RECORD vouches for."""
    for entry in entries:
        if entry[TYPE] != "file":
            continue
        known = records.get(entry[PATH])
        if entry[SIZE] <= DIGEST_LIMIT or known is None or known[1] != entry[SIZE]:
            entry[MARK] = digest(os.path.join(root, entry[PATH]))


def passing(path: str) -> bool:
    """Tell whether an entry comes and goes by itself: what Python compiles when a module is imported."""
    return path.endswith((".pyc", "/__pycache__")) or path == "__pycache__"


def differences(before: Iterable[Entry], after: Iterable[Entry], *, inodes: bool) -> list[str]:
    """Return what differs between two descriptions of a folder, a line each; `inodes` compares these too."""
    old = {entry[PATH]: entry for entry in before if not passing(entry[PATH])}
    new = {entry[PATH]: entry for entry in after if not passing(entry[PATH])}
    found = []
    for path in sorted({*old, *new}):
        if path not in new:
            found.append(f"{path} is gone")
        elif path not in old:
            found.append(f"{path} is new")
        elif (what := _difference(old[path], new[path], inodes=inodes)) is not None:
            found.append(f"{path}: {what}")
    return found


def _difference(old: Entry, new: Entry, *, inodes: bool) -> str | None:
    if old[TYPE] != new[TYPE]:
        return f"a {new[TYPE]}, where a {old[TYPE]} was"
    if old[TYPE] == "link" and old[MARK] != new[MARK]:
        return f"leads to {new[MARK]}, not to {old[MARK]}"
    looked_at = (UID, GID) if old[TYPE] == "link" else (MODE, UID, GID, SIZE, MTIME)
    for index in looked_at:
        if old[index] != new[index]:
            return f"another {_WORDS[index]}"
    if inodes and old[TYPE] == "file" and old[INODE] != new[INODE]:
        return "another file stands there"
    if old[MARK] is not None and new[MARK] is not None and old[MARK] != new[MARK]:
        return "another content"
    return None


def contents_differ(root: str, entries: Iterable[Entry], records: dict[str, tuple[str, int]]) -> list[str]:
    """Read every file and return those whose content is not that of its mark or, without one, of its RECORD."""
    found = []
    for entry in entries:
        if entry[TYPE] != "file" or passing(entry[PATH]):
            continue
        expected = entry[MARK] or records.get(entry[PATH], ("", 0))[0]
        if not expected or digest(os.path.join(root, entry[PATH])) != expected:
            found.append(f"{entry[PATH]}: another content")
    return found


def encode(entries: Iterable[Entry]) -> bytes:
    return b"".join(json.dumps(entry, separators=(",", ":")).encode("ascii") + b"\n" for entry in entries)


def decode(data: bytes) -> list[Entry]:
    """Return the entries of an encoded manifest. Raise ValueError for one that is damaged."""
    entries = [json.loads(line) for line in data.splitlines()]
    if any(not isinstance(entry, list) or len(entry) != 9 for entry in entries):
        raise ValueError("not a manifest")
    return entries
