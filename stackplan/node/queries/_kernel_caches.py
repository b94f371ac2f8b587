"""Which entries of a kernel cache are stale: older than the packages that made them, or of another CUDA major release.

Shared by the query `kernel_caches` and the task `clear_caches`, so that what is removed is what was judged. On the way
to a cache a link of the user's own is followed, as his tools do; links inside a cache are never. A walk ends after
MOST_FILES files or LONGEST_S seconds, and says so.
"""

from __future__ import annotations

import errno
import os
import re
import time
from typing import Any, Iterator, Mapping

from stackplan.node import elf, own_way
from stackplan.node.queries import _kernel_cache_contents
from stackplan.node.queries._kernel_cache_listing import Listing
from stackplan.node.queries._kernel_cache_places import Cache, Refused

MOST_FILES = 300_000
LONGEST_S = 30.0
MOST_NAMED = 20
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
    """An entry of a cache. `why` is None for one that is not stale; `strays` are what in it is not the tool's own, by
    their paths in it. `oldest_ns` is when the first of its tool's files was written.
    """

    def __init__(self, name: str, listing: Listing) -> None:
        self.name = name
        self.path = listing.path
        self.listing = listing
        self.files = 0
        self.bytes = 0
        self.oldest_ns: int | None = None
        self.majors: dict[str, str] = {}
        self.why: str | None = None
        self.strays: list[str] = []


def judged(cache: Cache, packages: Packages, budget: Budget, blind: dict[str, str]) -> Iterator[Entry]:
    """Yield the entries of a cache, each looked at and judged. Raise OSError where its folder cannot be looked into.

    `blind` gets the folders in it that cannot be looked into, and why, where kernels may be loaded from them. The last
    entry may be looked at in part only, when the budget is spent.
    """
    root = own_way.resolve(cache.path)
    if os.stat(root).st_uid not in (0, os.geteuid()):
        # Whoever owns it may put a link in the place of a folder while this one is at work in it.
        raise PermissionError(errno.EPERM, "it is a folder of another user's")
    refused: Refused = {}
    for name in cache.entries(root, refused):
        if budget.spent:
            break
        listing = Listing(os.path.join(root, name))
        if "" in listing.blind:
            refused[listing.path] = listing.blind[""]
            continue
        if listing.folders_in[""] and not _kernel_cache_contents.may_be(cache.tool, listing):
            continue
        if listing.complete(budget.spend, lambda: budget.spent):
            own, strays = _kernel_cache_contents.look(cache.tool, listing)
        else:
            # The rest of it was not looked at: what was tells its age, and not whose it is.
            own, strays = True, []
        if not own:
            continue
        entry = Entry(name, listing)
        entry.strays = strays
        _look_at_files(entry)
        entry.why = _why(entry, name, cache, packages)
        if entry.why is None:
            refused.update({listing.whole(folder): error for folder, error in listing.blind.items()})
        yield entry
    blind.update({path: error.strerror or str(error) for path, error in refused.items() if _may_matter(path, error)})


def _may_matter(path: str, error: OSError) -> bool:
    """Return whether a tool may load kernels from a folder that this user cannot list.

    By its name a file is opened without listing its folder, and the owner of a folder may open it again. What only
    another user may enter is of no use to the tools of this one.
    """
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return False
    try:
        return os.lstat(path).st_uid == os.geteuid() or os.access(path, os.X_OK)
    except OSError:
        return False


def _look_at_files(entry: Entry) -> None:
    """Count the files of an entry, and find the oldest of its tool's own, and the CUDA that they need."""
    foreign = set(entry.strays)
    for folder, files in entry.listing.files.items():
        if any(above in foreign for above in _above(folder)):
            entry.files += len(files)
            entry.bytes += sum(seen.size for seen in files.values())
            continue
        for name, seen in files.items():
            entry.files += 1
            entry.bytes += seen.size
            relative = os.path.join(folder, name)
            # A lock says nothing of when a kernel was made, nor do somebody else's files.
            if not seen.is_plain or name.endswith(("lock", ".log")) or relative in foreign:
                continue
            entry.oldest_ns = min(entry.oldest_ns or seen.modified_ns, seen.modified_ns)
            if name.endswith(".so"):
                entry.majors.update(_majors(entry.listing.whole(relative)))


def _above(folder: str) -> Iterator[str]:
    """Yield a folder and those above it, up to the entry."""
    while folder:
        yield folder
        folder = os.path.dirname(folder)


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
    row.update(real=None, fault=None, entries=0, files=0, bytes=0, reasons=[], stale=[])
    row.update(stale_entries=0, stale_files=0, stale_bytes=0, mixed_entries=0, strays=[], stray_count=0)
    reasons: dict[str, int] = {}
    blind: dict[str, str] = {}
    stale: list[dict[str, Any]] = []
    try:
        real = own_way.resolve(cache.path)
        row["real"] = None if real == cache.path else real
        for entry in judged(cache, packages, budget, blind):
            row["entries"] += 1
            row["files"] += entry.files
            row["bytes"] += entry.bytes
            if entry.why is not None and entry.strays:
                row["mixed_entries"] += 1
                row["stray_count"] += len(entry.strays)
                row["strays"] += map(entry.listing.whole, entry.strays[: MOST_NAMED - len(row["strays"])])
            elif entry.why is not None:
                row["stale_entries"] += 1
                row["stale_files"] += entry.files
                row["stale_bytes"] += entry.bytes
                reasons[entry.why] = reasons.get(entry.why, 0) + 1
                written = None if entry.oldest_ns is None else entry.oldest_ns // 10**9
                stale.append({"path": entry.path, "bytes": entry.bytes, "written": written})
                if len(stale) >= 4 * MOST_NAMED:
                    stale = _largest(stale)
    except (FileNotFoundError, NotADirectoryError):
        row["exists"] = False
    except OSError as error:
        row["fault"] = f"{cache.path} cannot be looked into: {error.strerror}"
    row["reasons"] = [{"why": why, "entries": count} for why, count in reasons.items()]
    row["stale"] = _largest(stale)
    row["blind"] = [f"{path}: {why}" for path, why in sorted(blind.items())[:MOST_NAMED]]
    row["blind_folders"] = len(blind)
    return row


def _largest(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda it: (-it["bytes"], it["path"]))[:MOST_NAMED]
