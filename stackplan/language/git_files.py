"""The files of a project as they are in a git revision, read from git's objects; nothing is ever checked out.

Locations in them read `1a2b3c4d5e:playbooks/p.yaml`, as `git show` takes them. Symbolic links are followed inside the
repository. No filter, hook or program that the repository configures is run, and nothing is fetched.

The repository is the one around the folder, also in a hook, where git names one in the environment: `GIT_DIR` counts
only beside `GIT_WORK_TREE`, without which it says nothing of where the files are.
"""

import os
import subprocess
from dataclasses import field
from pathlib import Path, PurePosixPath

from stackplan.language.tree import LARGEST_BYTES
from stackplan.model.cached import cached_property
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.frozen import dataclass

_GIT_S = 60.0
_LINK = "120000"
_MOST_LINKS = 20
_SHORT = 10
_DEEPEN = "this clone is shallow: fetch the revision first (`fetch-depth: 0` for actions/checkout)"
_OF_ONE_REPOSITORY = ("GIT_DIR", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY")


def toplevel(folder: Path) -> Path:
    """Return the root of the git work tree around a folder. Raise Invalid without git or a repository."""
    done = _git(folder, "rev-parse", "--show-toplevel")
    if done.returncode != 0:
        raise Invalid([_no_repository(folder, _words(done.stderr))])
    return Path(os.fsdecode(done.stdout.rstrip(b"\n"))).resolve()


def inside(root: Path, path: Path) -> Path:
    """Return the path of a file, which need not exist, as one below a work tree's root. Raise Invalid if it is not."""
    absolute = Path(os.path.normpath(path.absolute()))
    if not absolute.is_relative_to(root):
        absolute = absolute.parent.resolve() / absolute.name
    if not absolute.is_relative_to(root):
        summary = f"{path} lies outside of the git repository {root}"
        remedy = "run `stackplan diff` in its own repository, or compare two files: `stackplan diff old.yaml new.yaml`"
        raise Invalid([Diagnosis(summary=summary, remedy=remedy)])
    folder = next(it for it in absolute.parents if it.is_dir())
    if folder != root and (other := toplevel(folder)) != root and other.is_relative_to(root):
        summary = f"{path} lies in another git repository, {other}"
        raise Invalid([Diagnosis(summary=summary, remedy="run `stackplan diff` there")])
    return absolute


def _no_repository(folder: Path, said: str | None) -> Diagnosis:
    if said is not None and "dubious ownership" in said:
        return Diagnosis(
            summary=f"git reads no repository of another user, and {folder} lies in one",
            observed=said.split("\n", maxsplit=1)[0],
            remedy="if you trust it: `git config --global --add safe.directory` and the repository's folder",
        )
    return Diagnosis(
        summary="this is not a git work tree, so there are no revisions to compare",
        observed=said,
        remedy="compare two files: `stackplan diff old.yaml new.yaml`",
    )


def commit(root: Path, revision: str) -> str:
    """Return the full name of the commit that a revision names. Raise Invalid when there is none."""
    done = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if done.returncode != 0:
        expected = "a branch, a tag or a commit of this repository"
        remedy = _DEEPEN if _is_shallow(root) else None
        raise Invalid([Diagnosis(summary=f"git knows no revision `{revision}`", expected=expected, remedy=remedy)])
    return done.stdout.decode("ascii").strip()


def merge_base(root: Path, first: str, second: str) -> str:
    """Return the commit where two revisions went apart. Raise Invalid when they have nothing in common."""
    done = _git(root, "merge-base", commit(root, first), commit(root, second))
    if done.returncode != 0:
        summary = f"`{first}` and `{second}` have no commit in common"
        one = f"name one of them: `stackplan diff {first} -- PLAYBOOK`"
        raise Invalid([Diagnosis(summary=summary, remedy=_DEEPEN if _is_shallow(root) else one)])
    return done.stdout.decode("ascii").strip()


def _is_shallow(root: Path) -> bool:
    return _git(root, "rev-parse", "--is-shallow-repository").stdout.strip() == b"true"


@dataclass(frozen=True)
class _Entry:
    mode: str
    kind: str
    object: str


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
        if int(self._asked("cat-file", "-s", entry.object)) > LARGEST_BYTES:
            summary = f"`{named}` is too large to be a playbook, an inventory or a file of variables"
            raise Invalid([Diagnosis(summary=summary, expected="at most 1 MiB")])
        return self._content(entry)

    def paths(self) -> tuple[str, ...]:
        """Return the paths of all files, from the root."""
        return tuple(self._entries)

    def submodule_of(self, path: Path) -> str | None:
        """Return the submodule that a path lies in, whose files this repository does not hold; None outside of one."""
        inside = self._inside(path)
        return next((str(it) for it in inside.parents if str(it) in self._submodules), None) if inside else None

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

    def _inside(self, path: Path) -> PurePosixPath | None:
        return PurePosixPath(path.relative_to(self.root)) if path.is_relative_to(self.root) else None

    def _entry(self, path: Path) -> _Entry | None:
        inside = self._inside(path)
        if inside is None:
            return None
        found = self._entries.get(str(inside))
        return None if found is None or found.mode == _LINK else found

    def _first_link(self, path: PurePosixPath) -> PurePosixPath | None:
        prefixes = [*reversed(path.parents), path]
        return next(
            (it for it in prefixes if (found := self._entries.get(str(it))) is not None and found.mode == _LINK), None
        )

    def _content(self, entry: _Entry) -> bytes:
        if entry.object not in self._read:
            self._read[entry.object] = self._asked("cat-file", "blob", entry.object)
        return self._read[entry.object]

    def _asked(self, *words: str) -> bytes:
        done = _git(self.root, *words)
        if done.returncode != 0:
            summary = f"git cannot read a file of {self.label}"
            partial = b"lazy fetching disabled" in done.stderr
            remedy = f"this clone is partial: fetch what it lacks, for instance by `git archive {self.label}`"
            observed = _words(done.stderr)
            raise Invalid([Diagnosis(summary=summary, observed=observed, remedy=remedy if partial else None)])
        return done.stdout

    @cached_property
    def _entries(self) -> dict[str, _Entry]:
        return {path: entry for path, entry in self._listed.items() if entry.kind == "blob"}

    @cached_property
    def _submodules(self) -> frozenset[str]:
        return frozenset(path for path, entry in self._listed.items() if entry.kind == "commit")

    @cached_property
    def _listed(self) -> dict[str, _Entry]:
        """All that the commit holds, by path; `git ls-tree` says `MODE KIND OBJECT\tPATH`."""
        done = _git(self.root, "ls-tree", "-r", "-z", "--full-tree", self.commit)
        if done.returncode != 0:
            raise Invalid([Diagnosis(summary=f"git cannot list {self.label}", observed=_words(done.stderr))])
        found: dict[str, _Entry] = {}
        for row in done.stdout.split(b"\0"):
            about, tab, path = row.partition(b"\t")
            if tab:
                mode, kind, name = about.decode("ascii", "replace").split()
                found[os.fsdecode(path)] = _Entry(mode, kind, name)
        return found


def _git(folder: Path, *words: str) -> "subprocess.CompletedProcess[bytes]":
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
    if "GIT_WORK_TREE" not in environment:
        environment = {name: value for name, value in environment.items() if name not in _OF_ONE_REPOSITORY}
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
