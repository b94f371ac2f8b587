"""Where a program of the system administrator is: a login's search path often lacks the folders of such programs."""

from __future__ import annotations

import os

from stackplan.node.context import Context

_FOLDERS = ("/usr/sbin", "/sbin")


def find(name: str, context: Context) -> str | None:
    """Return the path of `ldconfig`, `modinfo` and their like, by the search path or where they always are, or None."""
    found = context.which(name)
    if found is not None:
        return found
    for folder in _FOLDERS:
        path = context.rooted(os.path.join(folder, name))
        if os.access(path, os.X_OK):
            return path
    return None
