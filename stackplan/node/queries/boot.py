"""Which boot the node runs in, how it can be restarted, and who or what a restart would cut off.

Asked without arguments. `id` is the boot's id, null where the kernel does not tell it. `how` is the program that
restarts the node: systemctl, shutdown or reboot; null where there is none. `busy` says in words what must not be cut
off: package managers at work, and whoever has told systemd to put a shutdown off. `logged_in` are the terminals that
are in use. `uid` and `user` are the asker's.
"""

from __future__ import annotations

import json
import os
from typing import Any

from stackplan.node.context import CannotTell, Context, ProbeFailed
from stackplan.node.queries import _dpkg
from stackplan.node.spool import boot_id

_LOCKS = (*_dpkg.LOCKS, "/usr/lib/sysimage/rpm/.rpm.lock", "/var/lib/rpm/.rpm.lock")
_MANAGER = "org.freedesktop.login1"
_INHIBITORS = ("call", _MANAGER, "/org/freedesktop/login1", f"{_MANAGER}.Manager", "ListInhibitors")
_MOST_TERMINALS = 20


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:  # noqa: ARG001 - every query has this form
    return {
        "id": boot_id() or None,
        "how": _how(context),
        "busy": [*_locks(context), *_inhibitors(context)],
        "logged_in": _terminals(context),
        "uid": os.geteuid(),
        "user": context.user,
    }


def _how(context: Context) -> str | None:
    if os.path.isdir(context.rooted("/run/systemd/system")) and context.which("systemctl"):
        return "systemctl"
    return next((program for program in ("shutdown", "reboot") if context.which(program)), None)


def _locks(context: Context) -> list[str]:
    """Return what holds a lock of a package manager; each holder once."""
    holders = [_dpkg.lock_holder(context.rooted(path)) for path in _LOCKS]
    texts = [f"{_dpkg.holder_text(it)} is at work with packages" for it in holders if it is not None]
    return list(dict.fromkeys(texts))


def _inhibitors(context: Context) -> list[str]:
    """Return who has told systemd that no shutdown may happen now; nobody where it cannot be asked."""
    try:
        ran = context.run(["busctl", "--json=short", *_INHIBITORS], timeout_s=10.0)
    except (CannotTell, ProbeFailed):
        return []
    return parse_inhibitors(ran.text()) if ran.exit_code == 0 else []


def parse_inhibitors(text: str) -> list[str]:
    """Return in words the inhibitors that forbid a shutdown; those that only delay one are none.

    busctl of systemd 252: {"type":"a(ssssuu)","data":[[["shutdown","packagekit","Package Update","block",0,1719]]]}
    """
    try:
        (rows,) = json.loads(text)["data"]
        return [
            f"process {pid} ({who}) forbids a shutdown: {why}"
            for what, who, why, mode, _uid, pid in rows
            if "shutdown" in what.split(":") and mode == "block"
        ]
    except (ValueError, TypeError, KeyError, AttributeError):
        return []


def _terminals(context: Context) -> list[str]:
    """Return who is logged in where: `ops pts/0 2026-12-01 03:10 (10.0.4.2)`."""
    try:
        ran = context.run(["who"], timeout_s=10.0)
    except (CannotTell, ProbeFailed):
        return []
    return [" ".join(line.split()) for line in ran.text().splitlines()[:_MOST_TERMINALS] if line.strip()]
