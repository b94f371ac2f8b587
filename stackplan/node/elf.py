"""What an ELF file states of the libraries it needs, read from its headers alone; standard library only.

A library of a gigabyte costs a few small reads: the file header, the program headers, the dynamic section, and a name
at a time of its strings. Nothing here trusts a count or an offset: what leads out of the file, or is larger than any
linker makes it, is `Damaged`.

    DT_NEEDED 1 · DT_STRTAB 5 · DT_STRSZ 10 · DT_SONAME 14 · DT_RPATH 15 · DT_RUNPATH 29     (System V gABI, chapter 5)
"""

from __future__ import annotations

import os
import stat
import struct
from typing import Any

MOST_SEGMENTS = 1024
MOST_ENTRIES = 8192
LONGEST_NAME = 16384
WINDOW = 4096
_LOAD, _DYNAMIC = 1, 2
_MAGIC = b"\x7fELF"
_END, _NEEDED, _STRTAB, _STRSZ, _SONAME, _RPATH, _RUNPATH = 0, 1, 5, 10, 14, 15, 29


class NotElf(Exception):
    """The file is no ELF file, or one that no loader would take; `why` says what is wrong with it."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Damaged(NotElf):
    """The file was to be an ELF file, as its first bytes or the lack of any say, and no loader would take it."""


class Elf:
    """What a file states. `machine` tells what can be loaded together: class, byte order and e_machine.

    `search` are the folders of DT_RUNPATH, or of DT_RPATH where there is none (`before_environment`: those are looked
    into before LD_LIBRARY_PATH), as written, `$ORIGIN` and all.
    """

    __slots__ = ("before_environment", "machine", "needed", "search", "soname")

    def __init__(
        self, machine: str, soname: str | None, needed: list[str], search: list[str], *, before_environment: bool
    ) -> None:
        self.machine = machine
        self.soname = soname
        self.needed = needed
        self.search = search
        self.before_environment = before_environment

    def plain(self) -> list[Any]:
        """Return it as JSON has it."""
        return [self.machine, self.soname, self.needed, self.search, self.before_environment]


def from_plain(value: Any) -> Elf | None:
    """Return what `plain` gave, None for anything else: it may come from a file that somebody damaged."""
    if not (isinstance(value, list) and len(value) == 5):
        return None
    machine, soname, needed, search, before = value
    names = [machine, *([] if soname is None else [soname])]
    if not (isinstance(needed, list) and isinstance(search, list) and isinstance(before, bool)):
        return None
    if not all(isinstance(it, str) for it in [*names, *needed, *search]):
        return None
    return Elf(machine, soname, needed, search, before_environment=before)


def read(path: str) -> Elf:
    """Return what the file at `path` states. Raise NotElf (Damaged for a broken one), or OSError for an unreadable one.

    A linker script, a text, or a library of another system is NotElf: it is what its makers wrote.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Damaged("not a plain file")
        return _File(descriptor, status.st_size).elf()
    finally:
        os.close(descriptor)


class _File:
    """An open file of `size` bytes."""

    def __init__(self, descriptor: int, size: int) -> None:
        self._descriptor = descriptor
        self._size = size
        self._window, self._window_at = b"", 0
        magic = os.pread(descriptor, 4, 0)
        # Zeros are what a crash leaves of a file whose content had not reached the disk.
        if magic.strip(b"\0") and not _MAGIC.startswith(magic):
            raise NotElf("not an ELF file")
        identity = self._bytes(0, 16)
        if magic != _MAGIC:
            raise Damaged("it begins with zeros")
        if identity[4] not in (1, 2) or identity[5] not in (1, 2):
            raise Damaged("an ELF file of no known class or byte order")
        self._wide = identity[4] == 2
        self._order = "<" if identity[5] == 1 else ">"
        self._identity = identity

    def elf(self) -> Elf:
        kind, machine = self._unpack("HH", 16)
        name = f"{self._identity[4]}.{self._identity[5]}.{machine}"
        if kind in (1, 4):
            raise NotElf("an ELF file, but no library and no program")
        if kind not in (2, 3):
            raise Damaged("an ELF file of no known kind")
        segments = self._segments()
        if any(kind == _LOAD and at + length > self._size for kind, at, _, length in segments):
            raise Damaged("it is cut short")
        dynamic = next((it for it in segments if it[0] == _DYNAMIC), None)
        if dynamic is None:
            return Elf(name, None, [], [], before_environment=False)
        entries = self._entries(dynamic[1], dynamic[3])
        strings = self._strings(entries, segments)
        needed = [strings(value) for tag, value in entries if tag == _NEEDED]
        by_tag = dict(entries)
        soname = strings(by_tag[_SONAME]) if _SONAME in by_tag else None
        # The loader disregards DT_RPATH where there is DT_RUNPATH.
        search = by_tag.get(_RUNPATH, by_tag.get(_RPATH))
        folders = [it for it in strings(search).split(":") if it] if search is not None else []
        return Elf(name, soname, needed, folders, before_environment=_RPATH in by_tag and _RUNPATH not in by_tag)

    def _segments(self) -> list[tuple[int, int, int, int]]:
        """Return kind, offset, address and size in the file of every segment."""
        (at,) = self._unpack("Q", 32) if self._wide else self._unpack("I", 28)
        size, count = self._unpack("HH", 54 if self._wide else 42)
        form, least = ("IIQQQQ", 56) if self._wide else ("IIIII", 32)
        if count > MOST_SEGMENTS or (count and size < least):
            raise Damaged("its program headers make no sense")
        raw = self._bytes(at, size * count)
        found = []
        for index in range(count):
            fields = struct.unpack_from(self._order + form, raw, index * size)
            # 64-bit: type, flags, offset, address, physical, size; 32-bit: type, offset, address, physical, size.
            offset, address, length = (fields[2], fields[3], fields[5]) if self._wide else (*fields[1:3], fields[4])
            found.append((fields[0], offset, address, length))
        return found

    def _entries(self, at: int, size: int) -> list[tuple[int, int]]:
        form = struct.Struct(self._order + ("qQ" if self._wide else "iI"))
        if size > MOST_ENTRIES * form.size:
            raise Damaged("its dynamic section is larger than any linker makes it")
        raw = self._bytes(at, size - size % form.size)
        found = []
        for tag, value in form.iter_unpack(raw):
            if tag == _END:
                break
            found.append((tag, value))
        return found

    def _strings(self, entries: list[tuple[int, int]], segments: list[tuple[int, int, int, int]]) -> Any:
        """Return what gives the name at an offset of the string table."""
        by_tag = dict(entries)
        address, size = by_tag.get(_STRTAB), by_tag.get(_STRSZ, 0)
        at = None
        for kind, offset, begin, length in segments:
            if kind == _LOAD and address is not None and begin <= address < begin + length:
                at = offset + address - begin
                break

        def name(offset: int) -> str:
            if at is None or offset >= size:
                raise Damaged("a name in its dynamic section lies outside its strings")
            length = 256
            while True:
                wanted = min(length, size - offset)
                raw = self._bytes(at + offset, wanted)
                end = raw.find(b"\0")
                if end >= 0:
                    return raw[:end].decode("utf-8", "replace")
                if wanted < length or length >= LONGEST_NAME:
                    raise Damaged("a name in its dynamic section has no end")
                length *= 8

        return name

    def _unpack(self, form: str, at: int) -> tuple[int, ...]:
        packed = struct.Struct(self._order + form)
        return packed.unpack(self._bytes(at, packed.size))

    def _bytes(self, at: int, size: int) -> bytes:
        if at < 0 or size < 0 or at + size > self._size:
            raise Damaged("it is cut short")
        # What is asked for next mostly lies close by: linkers put the names of libraries side by side.
        begin = at - self._window_at
        if begin < 0 or begin + size > len(self._window):
            self._window = os.pread(self._descriptor, max(size, WINDOW), at)
            self._window_at, begin = at, 0
        raw = self._window[begin : begin + size]
        if len(raw) != size:
            raise Damaged("it is cut short")
        return raw
