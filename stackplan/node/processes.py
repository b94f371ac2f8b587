"""What /proc tells of processes: who descends from whom, what they are called, and how to end them all."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
from typing import Iterable

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> bool:
    """Make this process the parent of every descendant whose own parent dies, so that none escapes by a double fork."""
    try:
        return bool(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


def _status(pid: int) -> tuple[str, int, int, str] | None:
    """Return (name, parent, session, state) of a process, or None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return None
    # The name stands in parentheses and may itself hold parentheses and spaces.
    name = text[text.index("(") + 1 : text.rindex(")")]
    fields = text[text.rindex(")") + 2 :].split()
    return name, int(fields[1]), int(fields[3]), fields[0]


def descendants(root: int, sessions: Iterable[int] = ()) -> dict[int, str]:
    """Return the names of the living processes that descend from `root` or belong to one of `sessions`, by number.

    `root` itself is not among them, nor is a zombie.
    """
    table = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            status = _status(int(entry))
            if status is not None:
                table[int(entry)] = status
    wanted = set(sessions)
    found: dict[int, str] = {}
    inside = {root}
    grown = True
    while grown:
        grown = False
        for pid, (_, parent, session, _) in table.items():
            if pid not in inside and (parent in inside or session in wanted) and pid != root:
                inside.add(pid)
                grown = True
    for pid in inside - {root}:
        name, _, _, state = table[pid]
        if state not in "ZX":
            found[pid] = name
    return found


def send(pids: Iterable[int], number: int, user: str | None = None) -> None:
    """Send a signal to each process; those that belong to `user` through sudo where this process has no right to."""
    refused = []
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:  # noqa: PERF203 - each may be gone or refused by itself
            continue
        except PermissionError:
            refused.append(str(pid))
    if refused and user is not None:
        name = signal.Signals(number).name[3:]
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(
                ["sudo", "-n", "-u", user, "--", "kill", "-s", name, *refused],  # noqa: S607 - sudo as the login finds it
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=10,
                check=False,
            )
