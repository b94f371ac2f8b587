"""What dpkg has on record, and who holds the locks of dpkg and apt. Shared by queries and tasks; changes nothing."""

from __future__ import annotations

import fcntl
import os
import struct
from typing import Any

from stackplan.node.context import CannotTell, Context, ProbeFailed

FRONTEND_LOCK = "/var/lib/dpkg/lock-frontend"
LOCKS = (FRONTEND_LOCK, "/var/lib/dpkg/lock", "/var/cache/apt/archives/lock")
LISTS_LOCK = "/var/lib/apt/lists/lock"
JOURNAL = "/var/lib/dpkg/updates"
_FORMAT = "${Package}\\t${Architecture}\\t${Status}\\t${Version}\\n"
_ABSENT = ("not-installed", "config-files")
# dpkg finishes these by itself whenever it runs.
_WHOLE = ("installed", "triggers-awaited", "triggers-pending")
# l_type, l_whence, l_start, l_len, l_pid of fcntl's struct flock.
_FLOCK = "hhqqi"


def packages(context: Context) -> dict[str, Any]:
    """Return `{"architecture", "packages": {name: row}}`, asked once a batch. Raise CannotTell where there is no dpkg.

    A name bears its architecture (`libc6:i386`) when that is not the node's own. A row is `{"version", "status",
    "held", "broken"}`; what is not installed, or has only its configuration left, is not among them.
    """
    if "dpkg" not in context.memo:
        context.memo["dpkg"] = _read(context)
    found: dict[str, Any] = context.memo["dpkg"]
    return found


def _read(context: Context) -> dict[str, Any]:
    architecture = context.run(["dpkg", "--print-architecture"])
    listing = context.run(["dpkg-query", "-W", "-f", _FORMAT], limit=32 * 1024 * 1024)
    for word, ran in (("dpkg --print-architecture", architecture), ("dpkg-query -W", listing)):
        if ran.exit_code != 0:
            raise ProbeFailed(f"{word} ended with exit status {ran.exit_code}", ran.error_text())
    if listing.truncated:
        raise CannotTell("dpkg-query lists more packages than are read")
    native = architecture.text().strip()
    return {"architecture": native, "packages": parse_listing(listing.text(), native)}


def parse_listing(text: str, native: str) -> dict[str, dict[str, Any]]:
    """Return the rows by name of lines such as `libnccl2<TAB>amd64<TAB>hold ok installed<TAB>2.30.7-1+cuda13.3`."""
    found = {}
    for line in text.splitlines():
        parts = line.split("\t")
        words = parts[2].split() if len(parts) == 4 else []
        if len(words) != 3:
            raise CannotTell("dpkg-query does not list packages as dpkg does")
        want, error, status = words
        if status in _ABSENT and error == "ok":
            continue
        name = parts[0] if parts[1] in (native, "all") else f"{parts[0]}:{parts[1]}"
        broken = status not in _WHOLE or error != "ok"
        found[name] = {"version": parts[3], "status": status, "held": want == "hold", "broken": broken}
    return found


def journal_entries(context: Context) -> int:
    """Return how many changes dpkg wrote down and did not finish: more than none when it was killed."""
    try:
        return sum(name.isdigit() for name in os.listdir(context.rooted(JOURNAL)))
    except OSError:
        return 0


def lock_holder(path: str) -> dict[str, Any] | None:
    """Return `{"path", "pid", "name"}` of the process that holds a lock file, or None.

    The lock is looked at, never taken. `pid` is null where the holder lives in another container. A file that the user
    may not open tells nothing.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, _, _, _, pid = struct.unpack(_FLOCK, fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))
    except OSError:
        return None
    finally:
        os.close(descriptor)
    if kind == fcntl.F_UNLCK:
        return None
    return {"path": path, "pid": pid if pid > 0 else None, "name": _process_name(pid)}


def _process_name(pid: int) -> str | None:
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as source:
            return source.read().strip()
    except OSError:
        return None


def holder_text(holder: dict[str, Any]) -> str:
    """Return a holder in words: `process 1719 (unattended-upgr)`."""
    if holder["pid"] is None:
        return "a process of another container"
    return f"process {holder['pid']} ({holder['name'] or 'already gone'})"
