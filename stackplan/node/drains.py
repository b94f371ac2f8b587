"""What stackplan has drained on this node and how that stood before, kept on disk until it is taken back.

$XDG_STATE_HOME/stackplan/HOST/drains/NAME.json, 0600. It is on disk before the drain is set, so that whoever comes
after a power cut knows whose the drain is. It belongs to the user who drained: a step of another user does not see it.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any
from urllib.parse import quote

from stackplan.node.spool import state_folder


def record_path(name: str) -> str:
    return os.path.join(state_folder(), "drains", f"{quote(name, safe='')}.json")


def recorded(name: str) -> dict[str, Any] | None:
    """Return the record of a drain that is not taken back yet, or None. Raise OSError, and ValueError for no record."""
    try:
        with open(record_path(name), encoding="utf-8") as file:
            found = json.load(file)
    except FileNotFoundError:
        return None
    if not isinstance(found, dict) or not isinstance(found.get("mark"), str):
        raise ValueError(f"{record_path(name)} is no record of a drain")  # noqa: TRY004 - as for JSON that is none
    return found


def write(name: str, record: dict[str, Any]) -> None:
    """Put a record on disk, whole or not at all. Raise OSError."""
    path = record_path(name)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    part = path + ".part"
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(record, file)
        file.flush()
        os.fsync(file.fileno())
    os.rename(part, path)
    _settle(os.path.dirname(path))


def remove(name: str) -> None:
    """Forget a drain. Raise OSError."""
    path = record_path(name)
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)
        _settle(os.path.dirname(path))


def _settle(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
