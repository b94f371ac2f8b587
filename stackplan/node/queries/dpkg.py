"""All packages that dpkg has installed, what it has left half done, and who is at work with it.

Asked without arguments. `packages` are versions by name (`libc6:i386` for another architecture than the node's own),
`held` the names on hold, `unfinished` those that are neither installed nor gone: `{"libfoo": "half-configured"}`.
`journal` counts the changes that a killed dpkg left unfinished. `locked_by` is `{"path", "pid", "name"}`, null when
nobody is at work or the user may not look. `uid` and `user` are the asker's.
"""

from __future__ import annotations

import os
from typing import Any

from stackplan.node.context import Context
from stackplan.node.queries import _dpkg


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:  # noqa: ARG001 - every query has this form
    found = _dpkg.packages(context)
    rows = found["packages"]
    holders = [_dpkg.lock_holder(context.rooted(path)) for path in _dpkg.LOCKS]
    return {
        "architecture": found["architecture"],
        "packages": {name: row["version"] for name, row in rows.items()},
        "held": sorted(name for name, row in rows.items() if row["held"]),
        "unfinished": {name: row["status"] for name, row in rows.items() if row["broken"]},
        "journal": _dpkg.journal_entries(context),
        "locked_by": next((holder for holder in holders if holder is not None), None),
        "apt_get": context.which("apt-get"),
        "uid": os.geteuid(),
        "user": context.user,
    }
