"""The files of a project as they were read once: noted while a playbook is read, and read again without the disk.

Imports project only. Paths of a snapshot are texts to look up; nothing is opened or written under them.
"""

import os
from collections.abc import Iterable
from dataclasses import field
from pathlib import Path

from stackplan.language.project import Disk
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.frozen import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotFile:
    """One file: its path as people name it, the one that it really had, and its text, to the last byte."""

    path: str
    resolved: str
    text: str


@dataclass
class Noting(Disk):
    """The disk, and a note of every file that was read from it."""

    files: dict[str, SnapshotFile] = field(default_factory=dict)
    root: Path | None = None

    def read(self, path: Path, named: str) -> bytes:
        data = Disk.read(self, path, named)
        # What is not UTF-8 is refused by whoever asked for it, so that no snapshot comes of it.
        text = data.decode("utf-8", "surrogateescape")
        self.files[named] = SnapshotFile(path=named, resolved=str(self.resolved(path)), text=text)
        return data

    def root_of(self, path: Path) -> Path:
        found = Disk.root_of(self, path)
        self.root = self.root or found
        return found


class Snapshot:
    """Files that were noted once. `folder` is the working folder of that time, `root` the project's."""

    def __init__(self, folder: Path, root: Path, files: Iterable[SnapshotFile], revision: str | None) -> None:
        self._folder = folder
        self._root = root
        self._revision = revision
        self._files = {self._lexical(Path(file.path)): file for file in files}
        self._resolved = {Path(file.resolved): file for file in self._files.values()}

    def read(self, path: Path, named: str) -> bytes:
        """Return the bytes of a file. Raise Invalid for one that is not in the snapshot."""
        found = self._files.get(self._lexical(path)) or self._resolved.get(path)
        if found is None:
            raise Invalid([Diagnosis(summary=f"`{named}` is not among the files of the plan")])
        return found.text.encode("utf-8", "surrogateescape")

    def is_file(self, path: Path) -> bool:
        return path in self._resolved

    def resolved(self, path: Path) -> Path:
        lexical = self._lexical(path)
        return Path(self._files[lexical].resolved) if lexical in self._files else lexical

    def shown(self, path: Path) -> str:
        lexical = self._lexical(path)
        return str(lexical.relative_to(self._folder)) if lexical.is_relative_to(self._folder) else str(lexical)

    def root_of(self, path: Path) -> Path:
        del path
        return self._root

    def revision(self, folder: Path) -> str | None:
        del folder
        return self._revision

    def _lexical(self, path: Path) -> Path:
        return Path(os.path.normpath(self._folder / path))
