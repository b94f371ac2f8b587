"""The files of a project as they are in a git revision, read from git's objects; nothing is ever checked out.

Locations in them read `1a2b3c4d5e:playbooks/p.yaml`, as `git show` takes them. Symbolic links are followed inside the
repository. No filter, hook or program that the repository configures is run, and nothing is fetched.
"""

import os
import subprocess
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath

from stackplan.language.tree import LARGEST_BYTES
from stackplan.model.diagnosis import Diagnosis, Invalid

_GIT_S = 60.0
_LINK = "120000"
_MOST_LINKS = 20
_SHORT = 10


def toplevel(folder: Path) -> Path:
    """Return the root of the git work tree around a folder. Raise Invalid without git or a repository."""
    done = _git(folder, "rev-parse", "--show-toplevel")
    if done.returncode != 0:
        raise Invalid(
            [
                Diagnosis(
                    summary="this is not a git work tree, so there are no revisions to compare",
                    observed=_words(done.stderr),
                    remedy="compare two files: `stackplan diff old.yaml new.yaml`",
                )
            ]
        )
    return Path(os.fsdecode(done.stdout.rstrip(b"\n"))).resolve()


def commit(root: Path, revision: str) -> str:
    """Return the full name of the commit that a revision names. Raise Invalid when there is none."""
    done = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if done.returncode != 0:
        shallow = _git(root, "rev-parse", "--is-shallow-repository").stdout.strip() == b"true"
        fetch = "this clone is shallow: fetch the revision first (`fetch-depth: 0` for actions/checkout)"
        raise Invalid(
            [
                Diagnosis(
                    summary=f"git knows no revision `{revision}`",
                    expected="a branch, a tag or a commit of this repository",
                    remedy=fetch if shallow else None,
                )
            ]
        )
    return done.stdout.decode("ascii").strip()


def merge_base(root: Path, first: str, second: str) -> str:
    """Return the commit where two revisions went apart. Raise Invalid when they have nothing in common."""
    done = _git(root, "merge-base", commit(root, first), commit(root, second))
    if done.returncode != 0:
        summary = f"`{first}` and `{second}` have no commit in common"
        raise Invalid([Diagnosis(summary=summary, remedy=f"name one of them: `stackplan diff {first} -- PLAYBOOK`")])
    return done.stdout.decode("ascii").strip()


@dataclass(frozen=True)
class _Entry:
    mode: str
    object: str
    size: int


@dataclass
class GitFiles:
    """Implements `language.project.Files` for one commit; relative paths begin at `root`."""

    root: Path
    commit: str
    _read: dict[str, bytes] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return self.commit[:_SHORT]

    def read(self, path: Path, named: str) -> bytes:
        entry = self._entry(self.resolved(path))
        if entry is None:
            raise Invalid([Diagnosis(summary=f"there is no file `{named}`")])
        if entry.size > LARGEST_BYTES:
            summary = f"`{named}` is too large to be a playbook, an inventory or a file of variables"
            raise Invalid([Diagnosis(summary=summary, expected="at most 1 MiB")])
        return self._content(entry)

    def is_file(self, path: Path) -> bool:
        return self._entry(self.resolved(path)) is not None

    def resolved(self, path: Path) -> Path:
        """Return the path with all links followed; one that leads in a circle or out of the tree is no file there."""
        absolute = self._absolute(path)
        for _ in range(_MOST_LINKS):
            if not absolute.is_relative_to(self.root):
                return absolute
            link = self._first_link(PurePosixPath(absolute.relative_to(self.root)))
            if link is None:
                return absolute
            rest = absolute.relative_to(self.root / link)
            target = os.fsdecode(self._content(self._entries[str(link)]))
            absolute = Path(os.path.normpath(self.root / link.parent / target / rest))
        return absolute

    def shown(self, path: Path) -> str:
        absolute = self._absolute(path)
        inside = absolute.relative_to(self.root).as_posix() if absolute.is_relative_to(self.root) else str(absolute)
        return f"{self.label}:{inside}"

    def root_of(self, path: Path) -> Path:
        del path
        return self.root

    def revision(self, folder: Path) -> str | None:
        del folder
        return self.commit

    def _absolute(self, path: Path) -> Path:
        text = str(path)
        return Path(os.path.normpath(self.root / text.removeprefix(f"{self.label}:")))

    def _entry(self, path: Path) -> _Entry | None:
        if not path.is_relative_to(self.root):
            return None
        found = self._entries.get(path.relative_to(self.root).as_posix())
        return None if found is None or found.mode == _LINK else found

    def _first_link(self, path: PurePosixPath) -> PurePosixPath | None:
        prefixes = [*reversed(path.parents), path]
        return next(
            (it for it in prefixes if (found := self._entries.get(str(it))) is not None and found.mode == _LINK), None
        )

    def _content(self, entry: _Entry) -> bytes:
        if entry.object not in self._read:
            done = _git(self.root, "cat-file", "blob", entry.object)
            if done.returncode != 0:
                summary = f"git cannot read a file of {self.label}"
                raise Invalid([Diagnosis(summary=summary, observed=_words(done.stderr))])
            self._read[entry.object] = done.stdout
        return self._read[entry.object]

    @cached_property
    def _entries(self) -> dict[str, _Entry]:
        """The files and links of the commit, by path; `git ls-tree -l` says `MODE blob OBJECT SIZE\\tPATH`."""
        done = _git(self.root, "ls-tree", "-r", "-l", "-z", "--full-tree", self.commit)
        if done.returncode != 0:
            raise Invalid([Diagnosis(summary=f"git cannot list {self.label}", observed=_words(done.stderr))])
        found: dict[str, _Entry] = {}
        for row in done.stdout.split(b"\0"):
            about, tab, path = row.partition(b"\t")
            words = about.decode("ascii", "replace").split()
            if tab and words[1] == "blob":
                found[os.fsdecode(path)] = _Entry(words[0], words[2], int(words[3]))
        return found


def _git(folder: Path, *words: str) -> "subprocess.CompletedProcess[bytes]":
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
    argv = ["git", "-c", "core.fsmonitor=false", *words]
    try:
        return subprocess.run(
            argv,
            cwd=folder,
            env=environment,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_GIT_S,
            check=False,
        )
    except FileNotFoundError:
        summary = "git is not installed here, so there are no revisions to compare"
        raise Invalid([Diagnosis(summary=summary, remedy="install git, or compare two files")]) from None
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise Invalid([Diagnosis(summary="git does not answer", observed=str(error))]) from error


def _words(stderr: bytes) -> str | None:
    return stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ") or None
