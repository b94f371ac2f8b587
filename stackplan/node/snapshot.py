"""What a thing was before a run wrote to it, kept on the node until it is restored or pruned.

STATE/snapshots/RUN/KEY/        0700, in the state folder of the user who writes the thing
    begun.json                  what is taken, and where the clone is made: written first
    manifest                    what an environment's clone holds, entry by entry
    content                     the copy of a file
    snapshot.json               renamed into place last: without it the action has not begun
    steps                       the steps that acted on the thing, a line each
    left                        what the run left of it (node.left)
    spare.1 …                   empty files: a disk that is full lets names be changed, and no file be made
    keeping, restoring, restored    what it replaces is kept; it is being put back, and was; a clone is used up by that
An environment's clone lies beside it, `.NAME.stackplan-RUN-KEY`; where its user may not write into the folder above, or
that is another filesystem, inside it, `.stackplan-RUN-KEY`. What a restored thing has replaced, and others had changed
since the run, is kept there as `…-kept`, as long as the snapshot.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import stat
import time
from typing import Any, Iterator

from stackplan.node import manifest
from stackplan.node.clone import Cloner, flush, linkable, remove

ENVIRONMENT, FILE = "environment", "file"
INSIDE = ".stackplan-"
# How many snapshots of one thing stay on a node, that of the present run among them.
KEPT = 3
# `keeping`, `restoring`, `restored`.
MARKS = 3


class Refused(Exception):
    """Why a thing cannot be taken or restored, worded for people."""


class Snapshot:
    """One thing as it was before one run. Making this object touches nothing; `path` is absolute, links resolved."""

    def __init__(self, state: str, run: str, kind: str, path: str) -> None:
        self.state = state
        self.run = run
        self.kind = kind
        self.path = path
        # A folder above may be shared between nodes, which may be in one run.
        self.key = hashlib.sha256(os.fsencode(f"{os.uname().nodename}\0{path}")).hexdigest()[:10]
        self.folder = os.path.join(state, "snapshots", run, self.key)

    def file(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def told(self) -> dict[str, Any] | None:
        """Return what is known of a snapshot that was taken to its end, or None."""
        return _read(self.file("snapshot.json"))

    @property
    def restored(self) -> bool:
        return os.path.exists(self.file("restored"))

    @property
    def restoring(self) -> bool:
        return os.path.exists(self.file("restoring"))

    @property
    def keeping(self) -> bool:
        return os.path.exists(self.file("keeping"))

    def mark(self, name: str) -> None:
        """Set one of the marks `keeping`, `restoring`, `restored`, without room on the disk where that can be."""
        if os.path.exists(self.file(name)):
            return
        spare = next((it for it in _listed(self.folder) if it.startswith("spare.")), None)
        if spare is None:
            write(self.file(name), {})
        else:
            os.rename(self.file(spare), self.file(name))
            _flush_folder(self.folder)

    def keep(self, path: str) -> None:
        """Move away, and keep, what was replaced and lies at `path`; nothing there is nothing to keep."""
        if os.path.lexists(path):
            os.rename(path, self.place_to_keep())

    def place_to_keep(self) -> str:
        """Return a path that is free, where something that is replaced is kept."""
        stem = self._kept_stem()
        return next(path for path in (stem, *(f"{stem}.{n}" for n in range(2, 10_000))) if not os.path.lexists(path))

    def kept(self) -> list[str]:
        """Return where lies what was replaced and is kept."""
        folder, stem = os.path.split(self._kept_stem())
        return [os.path.join(folder, it) for it in _listed(folder) if it == stem or it.startswith(f"{stem}.")]

    def _kept_stem(self) -> str:
        clone = (self.told() or _read(self.file("begun.json")) or {}).get("clone")
        return f"{clone if self.kind == ENVIRONMENT and clone else self._clone_beside()}-kept"

    def steps(self) -> list[str]:
        try:
            with open(self.file("steps"), encoding="utf-8") as lines:
                return list(dict.fromkeys(lines.read().split()))
        except OSError:
            return []

    def entries(self) -> list[manifest.Entry]:
        """Return the manifest. Raise Refused when it cannot be read."""
        try:
            with open(self.file("manifest"), "rb") as file:
                return manifest.decode(file.read())
        except (OSError, ValueError) as error:
            raise Refused(f"the manifest {self.file('manifest')} cannot be read: {error}") from None

    def describe(self, root: str) -> list[manifest.Entry]:
        """Return what stands below `root`, which is the environment or its clone."""
        return manifest.describe(root, own)

    def take(self, step: str) -> str:
        """Take the snapshot unless this run has one, note that `step` acts on it, and return what was done.

        What a run has half changed is never taken for what it was: a snapshot of the run that is there stays. Raise
        Refused or OSError; nothing is left then.
        """
        told = self.told()
        if told is not None and not self.restored:
            # What the run left is what its last action does: until that ends, nobody knows it.
            remove(self.file("left"))
            self._note(step)
            return f"the snapshot of {self.path} from {told['taken']} stays"
        self.discard(kept=False)
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        began = time.monotonic()
        try:
            told = self._environment() if self.kind == ENVIRONMENT else self._file()
            for number in range(1, MARKS + 1):
                os.close(os.open(self.file(f"spare.{number}"), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
            self._note(step)
            # By this text snapshots are put in order, and two runs may come within a second.
            second, fraction = divmod(time.time_ns() // 1000, 10**6)
            taken = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(second))}.{fraction:06}Z"
            told.update(taken=taken, seconds=time.monotonic() - began)
            write(self.file("snapshot.json"), {**self._identity(), **told})
        except BaseException:
            self.discard(kept=False)
            raise
        return _sentence(self.path, told)

    def discard(self, *, kept: bool = True) -> None:
        """Remove the snapshot, the clone first: a note without a clone can be found again, not so a clone without.

        And what it has replaced and `kept`.
        """
        begun = _read(self.file("begun.json")) or {}
        if kept and begun:
            for path in self.kept():
                remove(path)
        if begun.get("clone"):
            for path in leftovers(begun["clone"]):
                remove(path)
        remove(self.folder)
        with contextlib.suppress(OSError):
            os.rmdir(os.path.dirname(self.folder))

    def _identity(self) -> dict[str, Any]:
        return {"run": self.run, "kind": self.kind, "path": self.path}

    def _note(self, step: str) -> None:
        with open(self.file("steps"), "a", encoding="utf-8") as lines:
            lines.write(f"{step}\n")
            lines.flush()
            os.fsync(lines.fileno())

    def _environment(self) -> dict[str, Any]:
        if not os.path.lexists(self.path):
            clone = self._clone_beside()
            write(self.file("begun.json"), {**self._identity(), "clone": clone})
            return {"was": "absent", "clone": clone}
        if not os.path.isdir(self.path):
            raise Refused(f"{self.path} is no folder")
        beside = may_stand_beside(self.path)
        clone = self._clone_beside() if beside else os.path.join(self.path, f"{INSIDE}{self.run}-{self.key}")
        write(self.file("begun.json"), {**self._identity(), "clone": clone})
        before = self.describe(self.path)
        records = manifest.vouched(self.path, before)
        cloner = Cloner(lambda path, size: linkable(path, size, records))
        cloner.folder(self.path, clone, own)
        entries = self.describe(clone)
        kept = [entry for entry in before if entry[manifest.TYPE] != "other"]
        if differing := manifest.differences(kept, entries, inodes=False):
            raise Refused(f"{self.path} changed while it was copied: {brief(differing)}")
        manifest.mark(clone, entries, records)
        with open(self.file("manifest"), "wb") as file:
            file.write(manifest.encode(entries))
        flush(clone)
        if os.stat(clone).st_dev != os.stat(self.folder).st_dev:
            flush(self.folder)
        return {
            "was": ENVIRONMENT,
            "clone": clone,
            "beside": beside,
            "inode": os.stat(clone).st_ino,
            "way": cloner.way,
            "files": sum(entry[manifest.TYPE] == "file" for entry in entries),
            "copied_bytes": cloner.copied,
            "not_taken": cloner.others[:10],
            "packages": packages(self.path),
        }

    def _file(self) -> dict[str, Any]:
        write(self.file("begun.json"), {**self._identity(), "clone": None})
        try:
            status = os.lstat(self.path)
        except FileNotFoundError:
            return {"was": "absent", "clone": None}
        entry = manifest.entry_of("", self.path, status)
        if entry[manifest.TYPE] == "link":
            return {"was": "link", "clone": None, "entry": entry}
        if not stat.S_ISREG(status.st_mode):
            raise Refused(f"{self.path} is neither a file nor a link")
        cloner = Cloner()
        cloner.file(self.path, self.file("content"), status)
        entry[manifest.MARK] = manifest.digest(self.file("content"))
        after = manifest.entry_of("", self.path, os.lstat(self.path))
        if manifest.differences([entry], [after], inodes=True) or manifest.digest(self.path) != entry[manifest.MARK]:
            raise Refused(f"{self.path} changed while it was copied")
        flush(self.folder)
        return {"was": "file", "clone": self.file("content"), "entry": entry, "way": cloner.way}

    def _clone_beside(self) -> str:
        folder, name = os.path.split(self.path)
        return os.path.join(folder, f".{name[:150]}.stackplan-{self.run}-{self.key}")

    def unchanged(self) -> bool:
        """Tell whether the thing is still what it was when the snapshot was taken."""
        told = self.told()
        return told is not None and not self.differences(told)

    def differences(self, told: dict[str, Any]) -> list[str]:
        """Return in what the thing differs from what it was; contents of an environment's files are not read."""
        if told["was"] == "absent":
            return [f"{self.path} is there"] if os.path.lexists(self.path) else []
        if not os.path.lexists(self.path):
            return [f"{self.path} is gone"]
        if told["was"] == ENVIRONMENT:
            if not os.path.isdir(self.path):
                return [f"{self.path} is no folder"]
            return manifest.differences(self.entries(), self.describe(self.path), inodes=False)
        now = manifest.entry_of("", self.path, os.lstat(self.path))
        if now[manifest.TYPE] == "file":
            now[manifest.MARK] = manifest.digest(self.path)
        found = manifest.differences([told["entry"]], [now], inodes=False)
        return [f"{self.path}{line}" for line in found]

    def clone_fault(self, told: dict[str, Any]) -> str | None:
        """Return why the clone is no longer what was taken, or None; contents are not read."""
        if told["was"] in ("absent", "link") or self.restored:
            return None
        if not os.path.lexists(told["clone"]):
            return f"{told['clone']} is gone"
        if told["was"] == "file":
            right = manifest.digest(told["clone"]) == told["entry"][manifest.MARK]
            return None if right else f"{told['clone']}: another content"
        differing = manifest.differences(self.entries(), self.describe(told["clone"]), inodes=True)
        return brief(differing) if differing else None


@contextlib.contextmanager
def held(state: str) -> Iterator[None]:
    """Hold the user's snapshots on this node: a job that outlived its controller may still be putting things back."""
    os.makedirs(os.path.join(state, "snapshots"), mode=0o700, exist_ok=True)
    lock = os.open(os.path.join(state, "snapshots", ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def state_of_node() -> str:
    """Return the folder below which this user's snapshots lie."""
    from stackplan.node.spool import state_folder  # noqa: PLC0415 - nothing else here needs the spool

    return state_folder()


def all_snapshots(state: str, run: str | None = None) -> Iterator[Snapshot]:
    """Yield every snapshot of a run, or of all, those too that were not taken to their end."""
    top = os.path.join(state, "snapshots")
    for name in [run] if run is not None else _listed(top):
        for key in _listed(os.path.join(top, name)):
            begun = _read(os.path.join(top, name, key, "begun.json"))
            if begun is not None and begun.get("kind") in (ENVIRONMENT, FILE):
                yield Snapshot(state, name, begun["kind"], str(begun["path"]))


def prune(present: Snapshot) -> list[str]:
    """Remove the oldest snapshots of the same thing, and what killed runs left; return the runs whose were removed."""
    others = [
        it
        for it in all_snapshots(present.state)
        # One that is just being put back may be all that there is of the thing.
        if it.path == present.path and it.run != present.run and not (it.restoring and not it.restored)
    ]
    torn = [it for it in others if it.told() is None]
    whole = sorted((it for it in others if it.told() is not None), key=lambda it: str((it.told() or {}).get("taken")))
    removed = [*torn, *whole[: max(0, len(whole) - (KEPT - 1))]]
    for snapshot in removed:
        snapshot.discard()
    return [it.run for it in removed]


def real(path: str) -> str:
    """Return the path of a thing with every link above it resolved, but not the thing itself."""
    path = os.path.abspath(os.path.expanduser(path))
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def place(kind: str, path: str) -> str:
    """Return where a thing stands: an environment may be reached by a link, a link that is written is meant itself."""
    return os.path.realpath(os.path.expanduser(path)) if kind == ENVIRONMENT else real(path)


def own(path: str) -> bool:
    """Tell whether a relative path inside an environment is that of a clone of ours."""
    return path.startswith(INSIDE)


def may_stand_beside(path: str) -> bool:
    """Tell whether a clone of the folder at `path` may lie beside it and take its place there."""
    above, status = os.stat(os.path.dirname(path)), os.stat(path)
    if above.st_dev != status.st_dev or not os.access(os.path.dirname(path), os.W_OK | os.X_OK):
        return False
    sticky = above.st_mode & stat.S_ISVTX
    return not sticky or os.geteuid() in (0, above.st_uid, status.st_uid)


def leftovers(clone: str) -> tuple[str, ...]:
    """Return where parts of a clone, or of what it replaced, may lie."""
    return clone, replaced(clone)


def replaced(clone: str) -> str:
    """Return where what a clone replaces lies until it is removed."""
    return f"{clone}-replaced"


def packages(environment: str) -> dict[str, str]:
    """Return name and version of what is installed, as the folders of the metadata are named."""
    found: dict[str, str] = {}
    library = os.path.join(environment, "lib")
    for python in _listed(library):
        for folder in _listed(os.path.join(library, python, "site-packages")):
            stem, _, kind = folder.rpartition(".")
            if kind == "dist-info" and not folder.startswith("~"):
                name, _, version = stem.partition("-")
                found[name.replace("_", "-").lower()] = version
    return found


def brief(lines: list[str], most: int = 3) -> str:
    more = f", and {len(lines) - most} more" if len(lines) > most else ""
    return "; ".join(lines[:most]) + more


def write(path: str, content: dict[str, Any]) -> None:
    """Write a private JSON file in one move, on the disk when this returns."""
    write_bytes(path, json.dumps(content).encode("ascii"))


def write_bytes(path: str, content: bytes) -> None:
    """Write a private file in one move, on the disk when this returns."""
    descriptor = os.open(f"{path}.part", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.rename(f"{path}.part", path)
    _flush_folder(os.path.dirname(path))


def _flush_folder(path: str) -> None:
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _read(path: str) -> dict[str, Any] | None:
    try:
        with open(path, "rb") as file:
            found = json.loads(file.read())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _listed(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _sentence(path: str, told: dict[str, Any]) -> str:
    if told["was"] == "absent":
        return f"{path} is not there, so a rollback will remove it"
    if told["was"] == ENVIRONMENT:
        return f"snapshot of {path}: {told['files']} files by {told['way']}, {told['seconds']:.1f} s"
    return f"snapshot of {path} taken"
