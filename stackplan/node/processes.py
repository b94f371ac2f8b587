"""What /proc tells of processes: who descends from whom, what they are called, and how to end them all."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
from typing import Iterable, NamedTuple

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> bool:
    """Make this process the parent of every descendant whose own parent dies, so that none escapes by a double fork."""
    try:
        return bool(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


class Status(NamedTuple):
    """What /proc/PID/stat says of a process; `started` in ticks since the boot."""

    name: str
    parent: int
    session: int
    state: str
    started: int


def _status(pid: int) -> Status | None:
    """Return the status of a process, or None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return None
    # The name stands in parentheses and may itself hold parentheses and spaces.
    name = text[text.index("(") + 1 : text.rindex(")")]
    fields = text[text.rindex(")") + 2 :].split()
    return Status(name, int(fields[1]), int(fields[3]), fields[0], int(fields[19]))


def name_of(pid: int) -> str | None:
    """Return what a process is called, or None when there is none."""
    status = _status(pid)
    return None if status is None else status.name


def started(pid: int) -> int:
    """Return when a process was started, in ticks since the boot; 0 when that is not known."""
    status = _status(pid)
    return 0 if status is None else status.started


def _table() -> dict[int, Status]:
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            status = _status(int(entry))
            if status is not None:
                found[int(entry)] = status
    return found


def living_members(sessions: dict[int, int]) -> dict[int, str]:
    """Return the names of the living processes of sessions, given by leader and when it was started (0: whenever), by
    number.

    A leader that was started at another time is a stranger who was given the same number. Session 0 is none: the
    kernel's threads bear it, and whoever was put into this process namespace from outside.
    """
    sessions = {leader: since for leader, since in sessions.items() if leader}
    if not sessions:
        return {}
    table = _table()
    ours = {
        leader: since
        for leader, since in sessions.items()
        if not since or leader not in table or table[leader].started == since
    }
    return {
        pid: it.name
        for pid, it in table.items()
        if it.session in ours and it.started >= ours[it.session] and it.state not in "ZX"
    }


def descendants(root: int, sessions: Iterable[int] = ()) -> dict[int, str]:
    """Return the names of the living processes that descend from `root` or belong to one of `sessions`, by number.

    `root` itself is not among them, nor is a zombie. Parents come before their children: a shell that loses its child
    first takes that for the child's end and goes on, before it hears that it is to end itself.
    """
    table = _table()
    wanted = set(sessions) - {0}
    found: dict[int, str] = {}
    inside = {root}
    grown = True
    while grown:
        grown = False
        for pid, it in table.items():
            if pid not in inside and (it.parent in inside or it.session in wanted) and pid != root:
                inside.add(pid)
                grown = True
    for pid in sorted(inside - {root}, key=lambda pid: (table[pid].started, pid)):
        if table[pid].state not in "ZX":
            found[pid] = table[pid].name
    return found


def of_this_program() -> set[int]:
    """Return the numbers of the node program and of all that descends from it, for a question that one of them answers.

    What a question starts (an import, a kernel on a GPU) may run while another one looks who is at work on the node.
    """
    program = os.getppid()
    while name_of(program) == "sudo":
        status = _status(program)
        program = 0 if status is None else status.parent
    root = program if program > 1 else os.getpid()
    return {root, os.getpid(), *descendants(root)}


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
