"""The shared libraries of an environment, as the RECORDs name them, and what each of them states.

RECORDs are read instead of folders walked: an environment of 6 GB has a hundred thousand files, and a few hundred
libraries. What they state is kept by RECORD (`_library_store`).
"""

from __future__ import annotations

import csv
import hashlib
import os
import re
import stat
from typing import Any, Iterator

from stackplan.node import elf
from stackplan.node.plain_file import RECORD_LIMIT, read_plain
from stackplan.node.queries import _library_store
from stackplan.node.queries.distributions import metadata_folders, named_by_folder

_LIBRARY = re.compile(r"\.so(\.\d+)*$")
_SIZE = re.compile(r"[0-9]{1,18}$")


class Installed:
    """A distribution by its folder's name; `recorded` are its libraries and the sizes that RECORD gives them."""

    def __init__(self, site_packages: str, folder: str) -> None:
        self.site_packages = site_packages
        self.folder = folder
        self.name, self.version = named_by_folder(folder)
        self.recorded: dict[str, int | None] = {}
        self.digest: str | None = None
        self.fault: str | None = None

    def path(self, recorded: str) -> str:
        return os.path.normpath(os.path.join(self.site_packages, recorded))


class Library:
    """A library on disk. `owner` is the distribution that wrote it as it is now; `others` have it in their RECORD."""

    def __init__(self, path: str, recorded: str, owner: Installed, others: list[Installed]) -> None:
        self.path = path
        self.recorded = recorded
        self.owner = owner
        self.others = others
        self.elf: elf.Elf | None = None


class Libraries:
    """The libraries of some site-packages folders, by path. `unreadable` are those that could not be looked into."""

    def __init__(self, site_packages: list[str]) -> None:
        self.distributions = [it for folder in site_packages for it in _installed(folder)]
        self.by_path: dict[str, Library] = {}
        self.unreadable: list[str] = [it.fault for it in self.distributions if it.fault is not None]
        claims: dict[str, list[tuple[Installed, str]]] = {}
        for distribution in self.distributions:
            for recorded in distribution.recorded:
                claims.setdefault(distribution.path(recorded), []).append((distribution, recorded))
        for path, claimed in claims.items():
            self._settle(path, claimed)
        self._stored: dict[str, _library_store.Rows] = {}
        self._read()

    def _settle(self, path: str, claimed: list[tuple[Installed, str]]) -> None:
        """Find out whose file it is: of several that name it, whoever recorded the size that it has."""
        if len(claimed) > 1:
            try:
                size = os.stat(path).st_size
            except OSError:
                size = -1
            # The sort is stable: of several that fit, or of none, it is the first.
            claimed = sorted(claimed, key=lambda it: it[0].recorded[it[1]] != size)
        (owner, recorded), others = claimed[0], [it for it, _ in claimed[1:]]
        self.by_path[path] = Library(path, recorded, owner, others)

    def _read(self) -> None:
        by_owner: dict[int, list[Library]] = {}
        for library in self.by_path.values():
            by_owner.setdefault(id(library.owner), []).append(library)
        written = False
        for libraries in by_owner.values():
            digest = libraries[0].owner.digest
            before = _library_store.kept(digest) if digest is not None else {}
            after = {library.recorded: row for library in libraries for row in [self._row(library, before)] if row}
            if digest is not None and any(before.get(path) is not row for path, row in after.items()):
                _library_store.keep(digest, {**before, **after})
                written = True
        if written:
            _library_store.STORE.make_room()

    def _row(self, library: Library, before: _library_store.Rows) -> list[Any] | None:
        """Set what a library states; return the row that keeps it, None for a file that could not be looked at."""
        try:
            return _stated(library, before)
        except (FileNotFoundError, NotADirectoryError):
            del self.by_path[library.path]
        except OSError as error:
            self.unreadable.append(shown(f"{library.recorded}: {error.strerror}"))
        except elf.Damaged as damaged:
            self.unreadable.append(shown(f"{library.recorded}: {damaged.why}"))
        return None


def _stated(library: Library, before: _library_store.Rows) -> list[Any] | None:
    """Set what a library states and return the row that keeps it. Raise OSError, or Damaged for a broken file."""
    status = os.stat(library.path)
    # A device is not even opened.
    if not stat.S_ISREG(status.st_mode):
        raise elf.Damaged("not a plain file")
    # An empty file that was packed so is a stand-in; any other one was not written to its end.
    if not status.st_size and library.owner.recorded[library.recorded] == 0:
        return None
    row = before.get(library.recorded)
    if row is not None and row[:2] == [status.st_size, status.st_mtime_ns]:
        library.elf = elf.from_plain(row[2])
        if library.elf is not None or row[2] is None:
            return row
    try:
        library.elf = elf.read(library.path)
    except elf.Damaged:
        raise
    except elf.NotElf:
        library.elf = None
    return [status.st_size, status.st_mtime_ns, None if library.elf is None else library.elf.plain()]


def _installed(site_packages: str) -> Iterator[Installed]:
    for folder in metadata_folders(site_packages):
        if not folder.endswith(".dist-info"):
            continue
        found = Installed(site_packages, folder)
        try:
            raw = read_plain(os.path.join(site_packages, folder, "RECORD"), RECORD_LIMIT)
        except FileNotFoundError:
            pass
        except OSError as error:
            found.fault = shown(f"{folder}/RECORD: {error.strerror}")
        else:
            found.digest = hashlib.sha256(raw).hexdigest()
            found.recorded = dict(recorded_libraries(raw.decode("utf-8", "surrogateescape")))
        yield found


def recorded_libraries(text: str) -> Iterator[tuple[str, int | None]]:
    """Yield path and size of the shared libraries that a RECORD names."""
    # Of tens of thousands of lines a few hundred are looked at closely.
    for line in text.split("\n"):
        if ".so" not in line or "\0" in line:
            continue
        row = _fields(line) if '"' in line else line.rstrip("\r").rsplit(",", 2)
        if len(row) == 3 and _LIBRARY.search(row[0]):
            yield row[0], int(row[2]) if _SIZE.match(row[2]) else None


def _fields(line: str) -> list[str]:
    try:
        return next(csv.reader([line]), [])
    except csv.Error:
        return []


def shown(path: str) -> str:
    """Return a path as it can be told: bytes that are no UTF-8 are replaced."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
