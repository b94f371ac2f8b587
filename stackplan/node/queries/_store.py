"""What was read once and does not change under its digest, kept on the node: asked again, it is not read again.

A store is bounded: what was not looked at for long goes, and of too many files, or too large ones, the oldest. What
cannot be read counts as not kept, and a node without room goes without.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from typing import Any

from stackplan.node import spool

AGE_S = 90 * 24 * 3600.0
_TOUCHED_EVERY_S = 24 * 3600.0


class Store:
    """The store called `name`, of at most `most` files and `largest` bytes."""

    def __init__(self, name: str, most: int, largest: int) -> None:
        self._name = name
        self.most = most
        self.largest = largest

    @property
    def folder(self) -> str:
        return os.path.join(spool.state_folder(), self._name)

    def kept(self, sha256: str) -> Any:
        """Return what is kept under a digest, as JSON data; None when nothing is."""
        path = os.path.join(self.folder, sha256)
        try:
            with open(path, encoding="utf-8") as stream:
                about = json.load(stream)
                if time.time() - os.fstat(stream.fileno()).st_mtime > _TOUCHED_EVERY_S:
                    os.utime(path)
        except (OSError, ValueError, RecursionError):
            return None
        return about

    def keep(self, sha256: str, about: Any) -> None:
        """Keep it, whole or not at all."""
        with contextlib.suppress(OSError):
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            descriptor, beside = tempfile.mkstemp(dir=self.folder)
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                    json.dump(about, stream)
                os.replace(beside, os.path.join(self.folder, sha256))
            except OSError:
                os.unlink(beside)

    def make_room(self) -> None:
        """Remove what is too old or too much."""
        with contextlib.suppress(OSError):
            with os.scandir(self.folder) as entries:
                files = sorted(((it.stat().st_mtime, it.stat().st_size, it.path) for it in entries), reverse=True)
            oldest, room = time.time() - AGE_S, self.largest
            for number, (modified, size, path) in enumerate(files):
                room -= size
                if number >= self.most or room < 0 or modified < oldest:
                    with contextlib.suppress(OSError):
                        os.unlink(path)
