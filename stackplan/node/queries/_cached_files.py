"""Which processes have files of given folders open or mapped into memory, as far as this user may look."""

from __future__ import annotations

import contextlib
import os
import time
from typing import Any

from stackplan.node.context import Context

_LONGEST_S = 10.0
_MOST_ROWS = 50


def holders(folders: dict[str, str], context: Context) -> tuple[list[dict[str, Any]], int]:
    """Return `{"pid", "name", "tool"}` of each process that holds a file below a folder, and how many may not be seen.

    `folders` are tools by the folder of their kernels.
    """
    prefixes = {f"{os.path.realpath(path)}/": tool for path, tool in folders.items()}
    proc = context.rooted("/proc")
    found: list[dict[str, Any]] = []
    hidden = 0
    until = time.monotonic() + _LONGEST_S
    try:
        pids = sorted(int(name) for name in os.listdir(proc) if name.isdigit())
    except OSError:
        return [], 1
    for pid in pids:
        if time.monotonic() > until or len(found) >= _MOST_ROWS:
            hidden += 1
            continue
        folder = os.path.join(proc, str(pid))
        try:
            tools = sorted({tool for file in _files(folder) for prefix, tool in prefixes.items() if prefix in file})
        except PermissionError:
            hidden += 1
            continue
        except OSError:
            continue
        found += [{"pid": pid, "name": _name(folder), "tool": tool} for tool in tools]
    return found, hidden


def _files(folder: str) -> list[str]:
    with open(os.path.join(folder, "maps"), "rb") as maps:
        found = [line.decode("utf-8", "replace") for line in maps if b"/" in line]
    descriptors = os.path.join(folder, "fd")
    for name in os.listdir(descriptors):
        # It may be closed meanwhile.
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(os.path.join(descriptors, name)))
    return found


def _name(folder: str) -> str:
    try:
        with open(os.path.join(folder, "comm"), "rb") as stream:
            return stream.read(64).decode("utf-8", "replace").strip()
    except OSError:
        return "?"
