"""Which file the loader's cache names for a library, for programs of this node's own architecture."""

from __future__ import annotations

import re

from stackplan.node import elf, loader
from stackplan.node.context import CannotTell, Context

CACHE = "/etc/ld.so.cache"
_LIMIT = 16 * 1024 * 1024
_FILE_VERSION = re.compile(r"\.so\.(\d+(?:\.\d+)+)$")


def paths(name: str, context: Context) -> list[str]:
    """Return the files of that name that a program of this architecture can load, the one that is taken first.

    Raise CannotTell where there is no cache in a form that is known, ProbeFailed where it cannot be read.
    """
    found = _cache(context).get(name, [])
    return [path for path in found if _machine(context.rooted(path)) in (None, _machine("/proc/self/exe"))]


def _cache(context: Context) -> dict[str, list[str]]:
    if "ld.so.cache" not in context.memo:
        try:
            found = loader.read_cache(context.read(CACHE, _LIMIT))
        except FileNotFoundError:
            raise CannotTell(f"there is no {CACHE}, which tells where the loader finds libraries") from None
        if not found:
            raise CannotTell(f"{CACHE} has a form that is not known")
        context.memo["ld.so.cache"] = found
    cache: dict[str, list[str]] = context.memo["ld.so.cache"]
    return cache


def _machine(path: str) -> str | None:
    """Return what tells an ELF file's architecture, None where that cannot be read."""
    try:
        return elf.read(path).machine
    except (OSError, elf.NotElf):
        return None


def version_by_name(path: str) -> str | None:
    """Return the version that a library's own file name ends with (`libcuda.so.580.95.05`), or None.

    A single number is the soname's and no version.
    """
    match = _FILE_VERSION.search(path)
    return match.group(1) if match else None
