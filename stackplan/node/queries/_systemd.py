"""What systemd says of a unit, in properties and never in the words of `is-active`. Shared by queries and tasks."""

from __future__ import annotations

from typing import Any

from stackplan.node.context import CannotTell, Context, ProbeFailed

_PROPERTIES = (
    "Id",
    "LoadState",
    "LoadError",
    "ActiveState",
    "SubState",
    "Result",
    "UnitFileState",
    "FragmentPath",
    "Type",
    "RemainAfterExit",
    "MainPID",
    "InvocationID",
    "NRestarts",
    "StateChangeTimestampMonotonic",
    "ExecMainCode",
    "ExecMainStatus",
    "NeedDaemonReload",
    "CanStart",
    "CanReload",
    "Job",
)
_NO_MANAGER = ("has not been booted with systemd", "Failed to connect to bus", "Host is down")


def show(context: Context, name: str) -> dict[str, str]:
    """Return the properties of a unit by name; one that an older systemd does not know is missing or empty.

    A unit that does not exist has the `LoadState` not-found. Raise CannotTell where systemd does not run.
    """
    ran = context.run(["systemctl", "show", f"--property={','.join(_PROPERTIES)}", "--", name], timeout_s=20.0)
    if ran.exit_code != 0:
        said = ran.error_text().strip()
        if any(mark in said for mark in _NO_MANAGER):
            raise CannotTell(f"systemd does not run on this node: {said.splitlines()[0]}")
        raise ProbeFailed(f"systemctl show {name} ended with exit status {ran.exit_code}", said)
    found = parse_properties(ran.text())
    if "LoadState" not in found or "ActiveState" not in found:
        raise CannotTell(f"systemctl show {name} does not name a unit's state as systemd does")
    return found


def parse_properties(text: str) -> dict[str, str]:
    """Return the properties of lines such as `ActiveState=active`."""
    found = {}
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if equals:
            found[name] = value
    return found


def told(properties: dict[str, str]) -> dict[str, Any]:
    """Return properties as the query `service` answers with them."""
    return {
        "id": properties.get("Id") or None,
        "load": properties["LoadState"],
        "load_error": properties.get("LoadError", "").strip('" ') or None,
        "active": properties["ActiveState"],
        "sub": properties.get("SubState") or None,
        "result": properties.get("Result") or None,
        "exit": _exit(properties),
        "file_state": properties.get("UnitFileState") or None,
        "path": properties.get("FragmentPath") or None,
        "type": properties.get("Type") or None,
        "remains": properties.get("RemainAfterExit") == "yes",
        "invocation": properties.get("InvocationID") or None,
        "restarts": _number(properties.get("NRestarts")),
        "changed": _number(properties.get("StateChangeTimestampMonotonic")),
        "needs_reload": properties.get("NeedDaemonReload") == "yes",
        "can_start": properties.get("CanStart") != "no",
        "can_reload": properties.get("CanReload") == "yes",
    }


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() else None


def _exit(properties: dict[str, str]) -> str | None:
    """Return how the main process ended last: `exit status 1`, `signal 9`; None when it did not end badly."""
    code, status = properties.get("ExecMainCode"), properties.get("ExecMainStatus")
    if status in (None, "", "0"):
        return None
    # CLD_EXITED, CLD_KILLED and CLD_DUMPED of waitid.
    return {"1": f"exit status {status}", "2": f"signal {status}", "3": f"signal {status}, core dumped"}.get(code or "")
