"""Where the dynamic loader would look for a library, in its order (ld.so(8)); standard library and `elf` only.

For a file with DT_RPATH and no DT_RUNPATH: those folders, LD_LIBRARY_PATH, ld.so.cache, the default folders. For one
with DT_RUNPATH: LD_LIBRARY_PATH, those folders, ld.so.cache, the default folders. A library that the process holds
already under that name counts before all of this; whoever asks has to know of it.
"""

from __future__ import annotations

import os
import struct
from typing import Iterator

from stackplan.node import elf

DEFAULT_FOLDERS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib", "/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu")
_MAGIC = b"glibc-ld.so.cache1.1"
_OLD_MAGIC = b"ld.so-1.7.0\0"
_OLD_HEADER = struct.Struct("<12sI")
_OLD_ENTRY = 12
_HEADER = struct.Struct("<20sII20x")
_ENTRY = struct.Struct("<iIIIQ")


class Loader:
    """The loader of one login: what LD_LIBRARY_PATH and the system's ld.so.cache say. Files are read once each."""

    def __init__(self, library_path: str, cache: dict[str, list[str]], files: dict[str, elf.Elf | None]) -> None:
        """`files` is what was read already, by path; more is added to it, None for what no loader takes."""
        # An empty part means the current folder, which is that of whoever starts the service: it cannot be told here.
        self._environment = [part for part in library_path.replace(";", ":").split(":") if part.startswith("/")]
        self._cache = cache
        self._files = files

    def find(self, name: str, path: str, file: elf.Elf, inherited: tuple[str, ...] = ()) -> str | None:
        """Return where the file at `path` gets the library `name` from, None where the loader finds none.

        `inherited` are the folders of DT_RPATH of what loads the file, which it searches as well.
        """
        for candidate in self._places(name, path, file, inherited):
            if self._fits(candidate, file):
                return candidate
        return None

    def _places(self, name: str, path: str, file: elf.Elf, inherited: tuple[str, ...]) -> Iterator[str]:
        if "/" in name:
            yield name
            return
        own = folders(path, file)
        before = (*own, *inherited) if file.before_environment or not own else ()
        after = () if before else own
        for folder in (*before, *self._environment, *after):
            yield os.path.join(folder, name)
        yield from self._cache.get(name, ())
        for folder in DEFAULT_FOLDERS:
            yield os.path.join(folder, name)

    def _fits(self, path: str, asking: elf.Elf) -> bool:
        found = self.read(path)
        return found is not None and found.machine == asking.machine

    def read(self, path: str) -> elf.Elf | None:
        if path not in self._files:
            try:
                self._files[path] = elf.read(path)
            except (OSError, ValueError, elf.NotElf):
                self._files[path] = None
        return self._files[path]


def folders(path: str, file: elf.Elf) -> tuple[str, ...]:
    """Return the folders that the file at `path` names itself, `$ORIGIN` filled in; relative ones lead nowhere.

    `$ORIGIN` is the folder in which the loader found the file, whatever a link there leads to.
    """
    origin = os.path.dirname(path)
    filled = (it.replace("${ORIGIN}", origin).replace("$ORIGIN", origin) for it in file.search)
    return tuple(os.path.normpath(it) for it in filled if it.startswith("/"))


def read_cache(raw: bytes) -> dict[str, list[str]]:
    """Return the paths that an ld.so.cache has for each name, in its order; none for a cache of another form.

    Since glibc 2.2 the file holds, alone or behind an older table, a header `glibc-ld.so.cache1.1`, the count of
    entries, the length of the strings, and entries of flags, name, path, OS version and hardware capabilities; names
    and paths are offsets from that header.
    """
    begin = 0
    if raw.startswith(_OLD_MAGIC) and len(raw) >= _OLD_HEADER.size:
        _, count = _OLD_HEADER.unpack_from(raw)
        begin = (_OLD_HEADER.size + count * _OLD_ENTRY + 7) // 8 * 8
    if len(raw) < begin + _HEADER.size:
        return {}
    magic, count, _ = _HEADER.unpack_from(raw, begin)
    if magic != _MAGIC or begin + _HEADER.size + count * _ENTRY.size > len(raw):
        return {}
    found: dict[str, list[str]] = {}
    for index in range(count):
        _, name, path, _, _ = _ENTRY.unpack_from(raw, begin + _HEADER.size + index * _ENTRY.size)
        found.setdefault(_text(raw, begin + name), []).append(_text(raw, begin + path))
    return found


def _text(raw: bytes, at: int) -> str:
    end = raw.find(b"\0", at)
    return raw[at:end].decode("utf-8", "replace") if 0 <= at < end else ""
