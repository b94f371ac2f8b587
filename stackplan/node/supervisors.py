"""The supervisors that live, found among the processes: also of jobs whose folders somebody has deleted."""

from __future__ import annotations

import contextlib
import os

from stackplan.node.boot import BOOT
from stackplan.node.spool import state_folder

_DELETED = " (deleted)"


def living_supervisors() -> dict[str, int]:
    """Return the supervisors of this user that live, by job. Each holds the file `alive` of its job open."""
    spools = f"{os.path.realpath(os.path.join(state_folder(), 'spool'))}/"
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid() and is_ours(entry):
            for path in open_files(entry):
                job, _, name = path[len(spools) :].partition("/")
                if path.startswith(spools) and name in ("alive", "alive" + _DELETED):
                    found[job] = int(entry)
    return found


def is_ours(pid: str) -> bool:
    """Tell whether a process is a node program or a supervisor of this user."""
    try:
        if os.stat(f"/proc/{pid}").st_uid != os.geteuid():
            return False
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return BOOT.encode("ascii") in file.read()
    except OSError:
        return False


def open_files(pid: str) -> dict[str, str]:
    """Return the paths that a process has open, each with the place in /proc at which it can be opened again."""
    found = {}
    folder = f"/proc/{pid}/fd"
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            with contextlib.suppress(OSError):
                found[os.readlink(f"{folder}/{name}")] = f"{folder}/{name}"
    return found
