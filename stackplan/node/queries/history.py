"""What runs did to this node: the latest entries of the history that the login keeps on it.

`most` says how many entries at most. `unreadable` counts the lines that are no entries, such as one that was cut short.
No history is an empty one. `held_by` is the run that holds the node now: the end of that one is still to come.
"""

from __future__ import annotations

from typing import Any

from stackplan.node.context import Context, ProbeFailed
from stackplan.node.history import entries, history_path
from stackplan.node.lock import Unusable, holder

_ROOM = 16 * 1024 * 1024


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:  # noqa: ARG001 - every query has this form
    try:
        found, unreadable = entries(int(arguments["most"]))
    except OSError as error:
        raise ProbeFailed(f"{history_path()}: {error.strerror}") from error
    while found and sum(len(str(entry)) for entry in found) > _ROOM:
        found = found[len(found) // 2 + 1 :]
    return {"entries": found, "unreadable": unreadable, "held_by": _held_by()}


def _held_by() -> str | None:
    try:
        owner, _ = holder()
    except (OSError, Unusable):
        return None
    return None if owner is None else str(owner.get("run"))
