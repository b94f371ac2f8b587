"""Which entries of a kernel cache are stale: older than the packages that made them, or of another CUDA major release.

Shared by the query `kernel_caches` and the task `clear_caches`, so that what is removed is what was judged. Links
inside a cache are never followed. A walk ends after MOST_FILES files or LONGEST_S seconds, and says so.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from typing import Any, Iterator, Mapping

from stackplan.node import elf
from stackplan.node.queries import _kernel_cache_contents
from stackplan.node.queries._kernel_cache_places import Cache

MOST_FILES = 300_000
LONGEST_S = 30.0
# Numbered by the toolkit's major release, unlike cuFFT, cuSPARSE and their like.
_BY_MAJOR = re.compile(r"(lib(?:cudart|nvrtc|cublas|cublasLt|nvJitLink))\.so\.(\d+)")
_TAG = re.compile(r"py\d+\w*_cu(\d+)\d(?:/|$)")


class Packages:
    """What kernels are made by: when each package was installed (`installed_ns`, by name), and torch's CUDA release."""

    def __init__(self, versions: Mapping[str, str], installed_ns: Mapping[str, int], cuda: str | None) -> None:
        self.versions = versions
        self.installed_ns = installed_ns
        self.cuda = cuda
        self.major = cuda.partition(".")[0] if cuda else None


class Budget:
    """How much of all caches together may still be looked at."""

    def __init__(self, files: int = MOST_FILES, seconds: float = LONGEST_S) -> None:
        self.files = files
        self.until = time.monotonic() + seconds

    def spend(self) -> bool:
        """Count a file; return whether it may still be looked at."""
        self.files -= 1
        return self.files >= 0 and time.monotonic() < self.until

    @property
    def spent(self) -> bool:
        return self.files < 0 or time.monotonic() >= self.until


class Entry:
    """An entry of a cache. `why` is None for one that is not stale; `stray` is what in it is not the tool's own, None
    where all of it is.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.files = 0
        self.bytes = 0
        self.oldest_ns: int | None = None
        self.majors: dict[str, str] = {}
        self.why: str | None = None
        self.stray: str | None = None


def judged(cache: Cache, packages: Packages, budget: Budget) -> Iterator[Entry]:
    """Yield the entries of a cache, each looked at and judged. Raise OSError where its folder cannot be looked into.

    The last one may be looked at in part only, when the budget is spent.
    """
    status = os.lstat(cache.path)
    if stat.S_ISLNK(status.st_mode) and status.st_uid not in (0, os.geteuid()):
        # Anybody can make a link in /tmp, to whatever this user may write.
        raise PermissionError(errno.EPERM, "it is a link of another user's")
    root = os.path.realpath(cache.path)
    if os.stat(root).st_uid not in (0, os.geteuid()):
        # Whoever owns it may put a link in the place of a folder while this one is at work in it.
        raise PermissionError(errno.EPERM, "it is a folder of another user's")
    for name in cache.entries(root):
        if budget.spent:
            return
        entry = Entry(os.path.join(root, name))
        try:
            own, entry.stray = _kernel_cache_contents.look(cache.tool, entry.path, lambda: budget.spent)
        except OSError:
            # It was removed meanwhile, or belongs to another user: then there is nothing in it to be judged, either.
            own = True
        if not own:
            continue
        _walk(entry, entry.path, budget)
        entry.why = _why(entry, name, cache, packages)
        yield entry


def _walk(entry: Entry, folder: str, budget: Budget) -> None:
    try:
        with os.scandir(folder) as found:
            children = list(found)
    except OSError:
        # It was removed meanwhile, or belongs to another user.
        return
    for child in children:
        if child.is_dir(follow_symlinks=False):
            _walk(entry, child.path, budget)
            continue
        if not budget.spend():
            return
        try:
            status = child.stat(follow_symlinks=False)
        except OSError:
            continue
        entry.files += 1
        entry.bytes += status.st_size
        # A lock says nothing of when a kernel was made.
        if stat.S_ISREG(status.st_mode) and not child.name.endswith(("lock", ".log")):
            entry.oldest_ns = min(entry.oldest_ns or status.st_mtime_ns, status.st_mtime_ns)
            if child.name.endswith(".so"):
                entry.majors.update(_majors(child.path))


def _majors(path: str) -> dict[str, str]:
    """Return the CUDA libraries that a file needs by the major release that they belong to."""
    try:
        needed = elf.read(path).needed
    except (OSError, elf.NotElf):
        return {}
    return {match[2]: match[0] for match in map(_BY_MAJOR.fullmatch, needed) if match}


def _why(entry: Entry, name: str, cache: Cache, packages: Packages) -> str | None:
    """Return why an entry is stale; the files themselves tell more than their age."""
    if packages.major is not None:
        for major, library in sorted(entry.majors.items()):
            if major != packages.major:
                return f"needs {library}, and torch is built for CUDA {packages.cuda}"
        match = _TAG.match(name)
        if match and match[1] != packages.major:
            return f"built for CUDA {match[1]}, and torch is built for CUDA {packages.cuda}"
    installed = [(packages.installed_ns[it], it) for it in cache.packages if it in packages.installed_ns]
    if entry.oldest_ns is None or not installed:
        return None
    newest_ns, package = max(installed)
    return f"older than {package} {packages.versions[package]}" if entry.oldest_ns < newest_ns else None


def told(cache: Cache, packages: Packages, budget: Budget) -> dict[str, Any]:
    """Return what the query answers of a cache; its shape stands in `kernel_caches`."""
    row: dict[str, Any] = {"tool": cache.tool, "path": cache.path, "named_by": cache.named_by, "exists": True}
    row.update(fault=None, entries=0, files=0, bytes=0, reasons=[], examples=[])
    row.update(stale_entries=0, stale_files=0, stale_bytes=0, mixed_entries=0, strays=[])
    reasons: dict[str, int] = {}
    try:
        for entry in judged(cache, packages, budget):
            row["entries"] += 1
            row["files"] += entry.files
            row["bytes"] += entry.bytes
            if entry.why is not None and entry.stray is not None:
                row["mixed_entries"] += 1
                row["strays"] = (row["strays"] + [os.path.join(entry.path, entry.stray)])[:3]
            elif entry.why is not None:
                row["stale_entries"] += 1
                row["stale_files"] += entry.files
                row["stale_bytes"] += entry.bytes
                reasons[entry.why] = reasons.get(entry.why, 0) + 1
                row["examples"] = (row["examples"] + [entry.path])[:3]
    except (FileNotFoundError, NotADirectoryError):
        row["exists"] = False
    except OSError as error:
        row["fault"] = f"{cache.path} cannot be looked into: {error.strerror}"
    row["reasons"] = [{"why": why, "entries": count} for why, count in reasons.items()]
    return row
