"""What runs did to this node, kept on the node: one JSON line when a run takes it and one when it leaves it.

$XDG_STATE_HOME/stackplan/HOST/history.jsonl, 0600. A line is one write to a file opened for appending, so that two
writers never mix theirs; one that was cut short (a full disk, a crash) spoils itself alone. It is cut down to the
latest lines when a run takes the node, under the node's lock, which keeps other runs from writing meanwhile.
"""

from __future__ import annotations

import json
import os
from typing import Any

from stackplan.node.spool import state_folder

KEPT = 1000
"""Lines that are left when it is cut down: two a run."""
SLACK = 200
"""How many more there may be before that is done."""
ENTRY_LIMIT = 256 * 1024
_READ_LIMIT = 32 * 1024 * 1024


def history_path() -> str:
    return os.path.join(state_folder(), "history.jsonl")


def append(entry: dict[str, Any]) -> None:
    """Add an entry. Raise OSError where it cannot be written, ValueError where it is far too long to be one."""
    line = json.dumps(entry, separators=(",", ":")).encode("ascii") + b"\n"
    if len(line) > ENTRY_LIMIT:
        raise ValueError(f"an entry of {len(line)} bytes is longer than {ENTRY_LIMIT}")
    os.makedirs(state_folder(), mode=0o700, exist_ok=True)
    descriptor = os.open(history_path(), os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        line = b"\n" + line if torn else line
        written = os.write(descriptor, line)
        if written < len(line):
            raise OSError(28, f"only {written} of {len(line)} bytes could be written", history_path())
    finally:
        os.close(descriptor)


def cut_down() -> None:
    """Leave the latest KEPT lines of a history that has grown by SLACK beyond them. Raise OSError."""
    lines = _lines()
    if len(lines) <= KEPT + SLACK:
        return
    path = history_path()
    part = path + ".part"
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(b"".join(line + b"\n" for line in lines[-KEPT:]))
        file.flush()
        os.fsync(file.fileno())
    os.rename(part, path)


def entries(most: int) -> tuple[list[Any], int]:
    """Return the latest entries, at most `most`, in the order in which they were written, and how many lines of the
    history cannot be read. Nothing and 0 where there is no history. Raise OSError.
    """
    found: list[Any] = []
    unreadable = 0
    for line in _lines():
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            entry = None
        if isinstance(entry, dict):
            found.append(entry)
        else:
            unreadable += 1
    return found[max(0, len(found) - most) :], unreadable


def _lines() -> list[bytes]:
    """Return the lines that are not empty; of a file that somebody has blown up only those at its end."""
    try:
        descriptor = os.open(history_path(), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return []
    with os.fdopen(descriptor, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > _READ_LIMIT:
            file.seek(size - _READ_LIMIT)
            file.readline()
        return [line for line in file.read().split(b"\n") if line.strip()]
