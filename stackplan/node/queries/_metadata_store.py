"""What wheels said of themselves, kept on the node by their digest: a plan that is made again asks no index for it."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from typing import Any

from stackplan.node import spool

MOST = 4000
_KEYS = ("name", "version", "requires", "requires_python", "provides_extra")


def _folder() -> str:
    return os.path.join(spool.state_folder(), "metadata")


def kept(sha256: str) -> dict[str, Any] | None:
    """Return what the wheel of this digest says, None when it is not kept."""
    try:
        with open(os.path.join(_folder(), sha256), encoding="utf-8") as stream:
            about = json.load(stream)
    except (OSError, ValueError):
        return None
    return about if isinstance(about, dict) and all(key in about for key in _KEYS) else None


def keep(sha256: str, about: dict[str, Any]) -> None:
    """Keep it, whole or not at all; a node without room goes without."""
    folder = _folder()
    with contextlib.suppress(OSError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        _make_room(folder)
        descriptor, beside = tempfile.mkstemp(dir=folder)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            json.dump({key: about[key] for key in _KEYS}, stream)
        os.replace(beside, os.path.join(folder, sha256))


def _make_room(folder: str) -> None:
    names = os.listdir(folder)
    if len(names) >= MOST:
        for name in names[: MOST // 2]:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, name))
