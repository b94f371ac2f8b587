"""Whether the asking user may act as another one without being asked for a password.

Asked with `{"user": "root"}`. `needed` false: the asker is that user, or root. `says` is the last line of a refusal,
such as "sudo: a password is required". Whether the rules allow more than `true` is seen only when more is tried.
"""

from __future__ import annotations

import os
from typing import Any

from stackplan.node.context import Context


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    user = str(arguments["user"])
    told: dict[str, Any] = {"asker": context.user, "needed": True, "allowed": True, "says": None}
    if os.geteuid() == 0 or context.user == user:
        return dict(told, needed=False)
    sudo = context.which("sudo")
    if sudo is None:
        return dict(told, allowed=False, says="there is no sudo on this node")
    ran = context.run([sudo, "-n", "-u", user, "--", "true"], timeout_s=20.0)
    if ran.exit_code == 0:
        return told
    lines = [line.strip() for line in ran.error_text().splitlines() if line.strip()]
    return dict(told, allowed=False, says=lines[-1] if lines else f"sudo ended with exit status {ran.exit_code}")
