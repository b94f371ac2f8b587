"""What shared libraries state, kept on the node by the RECORD that names them: a look at an environment that did not
change opens none of them.

A row counts only for a file that is still as large, and as old, as when it was read: another package, or a person, may
have written over it and left the RECORD as it was. The store is bounded; a file of it that cannot be read counts as
none.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from typing import Any, Dict, List

from stackplan.node import spool

MOST = 2000
LARGEST = 64 * 1024 * 1024
AGE_S = 90 * 24 * 3600.0
FORM = 1
_TOUCHED_EVERY_S = 24 * 3600.0

Rows = Dict[str, List[Any]]
"""By path as RECORD has it: size, modification time in nanoseconds, and `Elf.plain()`, or None for no ELF file."""


def _folder() -> str:
    return os.path.join(spool.state_folder(), "libraries")


def kept(sha256: str) -> Rows:
    """Return what is kept of the libraries of a RECORD, empty where nothing is."""
    path = os.path.join(_folder(), sha256)
    try:
        with open(path, encoding="utf-8") as stream:
            about = json.load(stream)
            if time.time() - os.fstat(stream.fileno()).st_mtime > _TOUCHED_EVERY_S:
                os.utime(path)
    except (OSError, ValueError, RecursionError):
        return {}
    rows = about.get("rows") if isinstance(about, dict) and about.get("form") == FORM else None
    if not isinstance(rows, dict):
        return {}
    return {path: row for path, row in rows.items() if isinstance(row, list) and len(row) == 3}


def keep(sha256: str, rows: Rows) -> None:
    """Keep it, whole or not at all; a node without room goes without."""
    folder = _folder()
    with contextlib.suppress(OSError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        descriptor, beside = tempfile.mkstemp(dir=folder)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                json.dump({"form": FORM, "rows": rows}, stream)
            os.replace(beside, os.path.join(folder, sha256))
        except OSError:
            os.unlink(beside)


def make_room() -> None:
    """Remove what is too old or too much."""
    with contextlib.suppress(OSError):
        with os.scandir(_folder()) as entries:
            files = sorted(((it.stat().st_mtime, it.stat().st_size, it.path) for it in entries), reverse=True)
        oldest, room = time.time() - AGE_S, LARGEST
        for number, (modified, size, path) in enumerate(files):
            room -= size
            if number >= MOST or room < 0 or modified < oldest:
                with contextlib.suppress(OSError):
                    os.unlink(path)
