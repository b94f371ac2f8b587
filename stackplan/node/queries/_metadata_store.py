"""What wheels said of themselves, kept on the node by their digest: a plan that is made again asks no index for it.

The store is bounded: what was not looked at for AGE_S goes, and of more than MOST files, or LARGEST bytes, the oldest.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from typing import Any

from stackplan.node import spool

MOST = 4000
LARGEST = 32 * 1024 * 1024
AGE_S = 90 * 24 * 3600.0
_TOUCHED_EVERY_S = 24 * 3600.0
_KEYS = ("name", "version", "requires", "requires_python", "provides_extra")


def _folder() -> str:
    return os.path.join(spool.state_folder(), "metadata")


def kept(sha256: str) -> dict[str, Any] | None:
    """Return what the wheel of this digest says, None when it is not kept."""
    path = os.path.join(_folder(), sha256)
    try:
        with open(path, encoding="utf-8") as stream:
            about = json.load(stream)
            if time.time() - os.fstat(stream.fileno()).st_mtime > _TOUCHED_EVERY_S:
                os.utime(path)
    except (OSError, ValueError):
        return None
    return about if isinstance(about, dict) and all(key in about for key in _KEYS) else None


def keep(sha256: str, about: dict[str, Any]) -> None:
    """Keep it, whole or not at all; a node without room goes without."""
    folder = _folder()
    with contextlib.suppress(OSError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        descriptor, beside = tempfile.mkstemp(dir=folder)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                json.dump({key: about[key] for key in _KEYS}, stream)
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
