"""The project's folder: where a playbook's other files have to be, and which git revision it is at."""

import hashlib
import os
import subprocess
from dataclasses import field
from pathlib import Path
from typing import Protocol

from stackplan.language import source, tree
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.frozen import dataclass
from stackplan.model.location import Location

_GIT_S = 5.0


class Files(Protocol):
    """Where a project's files are: on the disk, or noted when they were read the first time (`language.snapshot`)."""

    def read(self, path: Path, named: str) -> bytes:
        """Return the bytes of a file. Raise Invalid when it cannot be read."""

    def is_file(self, path: Path) -> bool: ...

    def resolved(self, path: Path) -> Path: ...

    def shown(self, path: Path) -> str: ...

    def root_of(self, path: Path) -> Path: ...

    def revision(self, folder: Path) -> str | None: ...


class Disk:
    """The files of this machine as they are now."""

    def read(self, path: Path, named: str) -> bytes:
        return tree.read_bytes(path, named)

    def is_file(self, path: Path) -> bool:
        return path.is_file()

    def resolved(self, path: Path) -> Path:
        return path.resolve()

    def shown(self, path: Path) -> str:
        return shown(path)

    def root_of(self, path: Path) -> Path:
        return root_of(path)

    def revision(self, folder: Path) -> str | None:
        return revision(folder)


class Unversioned(Disk):
    """The same for whoever does not tell the revision: git is not asked."""

    def revision(self, folder: Path) -> str | None:
        del folder
        return None


@dataclass
class Project:
    """Reads files of one project; remembers their lines, for carets, and their digests.

    The first that is read is the one that names the others.
    """

    root: Path
    files: Files = field(default_factory=Disk)
    sources: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _digests: dict[Path, str] = field(default_factory=dict)
    _paths: dict[str, Path] = field(default_factory=dict)

    def read(self, path: Path) -> tree.Tree:
        """Return the tree of a file. Raise Invalid when it cannot be read."""
        return tree.read_text(self.text(path), self.files.shown(path))

    def text(self, path: Path) -> str:
        """Return the text of a file. Raise Invalid when it cannot be read or is not UTF-8."""
        named = self.files.shown(path)
        data = self.files.read(path, named)
        resolved = self.files.resolved(path)
        self._digests[resolved] = hashlib.sha256(data).hexdigest()
        self._paths[named] = resolved
        text = tree.decode(data, named)
        self.sources[named] = source.lines(text)
        return text

    def beside(self, named: str, at: Location) -> Path:
        """Return the path of a file named at `at`, relative to that one. Raise Invalid if it is not in the project."""
        folder = self._paths.get(at.path, Path(at.path)).parent
        try:
            resolved = self.files.resolved(folder / named)
            found = self.files.is_file(resolved)
        except (OSError, ValueError, RuntimeError) as error:
            raise source.invalid(
                [Diagnosis(summary=f"`{named}` is not a path: {error}", at=at)], self.sources
            ) from error
        if not resolved.is_relative_to(self.root):
            summary = f"`{named}` leads out of the project's folder"
            expected = f"a file in {self.root}"
            diagnosis = Diagnosis(summary=summary, expected=expected, observed=str(resolved), at=at)
            raise source.invalid([diagnosis], self.sources)
        if not found:
            observed = f"{resolved} is no file" if resolved.exists() else f"nothing at {resolved}"
            diagnosis = Diagnosis(summary=f"there is no file `{named}`", observed=observed, at=at)
            raise source.invalid([diagnosis], self.sources)
        return folder / named

    @property
    def sha256(self) -> str:
        """One digest of all files that were read: the first by what is in it, the others also by where they lie, seen
        from it. Where all of them lie together makes no difference.
        """
        (first, digest), *others = self._digests.items()
        named = ((os.path.relpath(path, first.parent), its) for path, its in others)
        whole = "".join(f"{name}\0{its}\n" for name, its in (("", digest), *sorted(named)))
        return hashlib.sha256(whole.encode("utf-8", "surrogateescape")).hexdigest()


def root_of(path: Path) -> Path:
    """Return the git root around a file, or the file's own folder where there is none."""
    folder = path.resolve().parent
    return next((it for it in (folder, *folder.parents) if (it / ".git").exists()), folder)


def shown(path: Path) -> str:
    """Return a path as people name it: relative to the working folder where it is below it."""
    try:
        here = Path.cwd()
        absolute = Path(os.path.normpath(here / path))
        return str(absolute.relative_to(here)) if absolute.is_relative_to(here) else str(absolute)
    except OSError:
        return str(path)


def revision(folder: Path) -> str | None:
    """Return the git revision of a folder, with `-dirty` where files differ; None without git or a repository."""
    argv = ["git", "-c", "core.fsmonitor=false", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            argv,
            cwd=folder,
            env=environment,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_GIT_S,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("ascii", "replace").strip() or None if done.returncode == 0 else None
