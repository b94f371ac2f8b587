"""How Slurm sees this node: its state, the reason and who gave it, and the jobs on it.

Asked with `{"node": NAME}`, or `{}` for the node that this machine is (SLURMD_NODENAME, else by its host name). `base`
and `flags` are Slurm's own words. `draining`: no new job is put on it, since somebody said so. `available`: new jobs
can start. `occupants` tells in words what keeps it from being empty. `ours` is the record of a drain that stackplan set
as this user and has not taken back, `mark` what stackplan's drains bear in their reason; null where there is none.
"""

from __future__ import annotations

from typing import Any

from stackplan.node.context import Context
from stackplan.node.queries import _slurm


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    name = arguments.get("node")
    key = f"slurm_node {name}"
    if key not in context.memo:
        context.memo[key] = _slurm.look(context, name)
    found: dict[str, Any] = context.memo[key]
    return found
