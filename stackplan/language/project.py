"""The project's folder: where a playbook's other files have to be, and which git revision it is at."""

import hashlib
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from stackplan.language import source, tree
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.location import Location

_GIT_S = 5.0


@dataclass
class Project:
    """Reads files of one project; remembers their lines, for carets, and their digests."""

    root: Path
    sources: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _digests: dict[str, str] = field(default_factory=dict)
    _paths: dict[str, Path] = field(default_factory=dict)

    def read(self, path: Path) -> tree.Tree:
        """Return the tree of a file. Raise Invalid when it cannot be read."""
        return tree.read_text(self.text(path), shown(path))

    def text(self, path: Path) -> str:
        """Return the text of a file. Raise Invalid when it cannot be read or is not UTF-8."""
        named = shown(path)
        data = tree.read_bytes(path, named)
        resolved = path.resolve()
        label = resolved.relative_to(self.root).as_posix() if resolved.is_relative_to(self.root) else path.name
        self._digests[label] = hashlib.sha256(data).hexdigest()
        self._paths[named] = resolved
        text = tree.decode(data, named)
        self.sources[named] = source.lines(text)
        return text

    def beside(self, named: str, at: Location) -> Path:
        """Return the path of a file named at `at`, relative to that one. Raise Invalid if it is not in the project."""
        folder = self._paths.get(at.path, Path(at.path)).parent
        try:
            resolved = (folder / named).resolve()
            found = resolved.is_file()
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
        """One digest of all files that were read, by their place in the project."""
        whole = "".join(f"{name}\0{digest}\n" for name, digest in sorted(self._digests.items()))
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
