"""How a read-only command ends and what it prints.

Asked with `{"run": TEXT}` (for `bash -euo pipefail`) or `{"argv": […]}`, and `env`, `timeout_s`. The standard input is
empty. `signal` names the signal that ended it; `truncated` tells that it printed more than was kept.
"""

from __future__ import annotations

import signal
from typing import Any

from stackplan.node.context import CannotTell, Context

KEPT = 256 * 1024


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    argv = arguments.get("argv") or _script(str(arguments["run"]), context)
    ran = context.run(
        [str(word) for word in argv],
        timeout_s=float(arguments.get("timeout_s") or 60.0),
        environment=arguments.get("env") or {},
        limit=KEPT,
    )
    ended_by = None
    if ran.exit_code < 0:
        number = -ran.exit_code
        known = {it.value: it.name for it in signal.Signals}
        ended_by = known.get(number, f"signal {number}")
    return {
        "exit_code": ran.exit_code if ended_by is None else None,
        "signal": ended_by,
        "stdout": ran.text(),
        "stderr": ran.error_text(),
        "truncated": ran.truncated,
    }


def _script(text: str, context: Context) -> list[str]:
    bash = context.which("bash")
    if bash is None:
        raise CannotTell("there is no bash on this node")
    return [bash, "--noprofile", "--norc", "-euo", "pipefail", "-c", text]
