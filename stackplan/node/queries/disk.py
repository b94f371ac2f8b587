"""How much room the filesystem has that holds a path, or would hold it: the nearest folder above that exists counts.

Asked with `{"path": "~/ml-env"}`. `free_bytes` is what a user without privileges may still write; `free_files` is how
many files may still be made, null where the filesystem keeps no such count.
"""

from __future__ import annotations

import os
from typing import Any

from stackplan.node.context import Context, ProbeFailed


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    path = context.expand(arguments["path"])
    nearest = path.rstrip("/") or "/"
    while True:
        try:
            room = os.statvfs(nearest)
            break
        except (FileNotFoundError, NotADirectoryError):
            nearest = os.path.dirname(nearest) or "/"
        except OSError as error:
            raise ProbeFailed(f"cannot look at {nearest}: {error.strerror}") from error
    return {
        "path": path,
        "nearest": nearest,
        "free_bytes": room.f_bavail * room.f_frsize,
        "total_bytes": room.f_blocks * room.f_frsize,
        "free_files": room.f_favail if room.f_files else None,
    }
