"""Putting a thing back as its snapshot has it, proven before and after; interrupted anywhere, it can be done again.

A clone that is no longer what was taken is not trusted: nothing is touched then. The folder takes its place by one
exchange of two names; where the node cannot do that, by two renames, and where the clone lies inside the environment,
by two for each of its top folders. Programs that run from the replaced files keep them until they end.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from typing import Any

from stackplan.node import manifest
from stackplan.node.clone import Cloner, exchange, flush, remove
from stackplan.node.snapshot import ENVIRONMENT, FILE, Refused, Snapshot, brief, leftovers, own, replaced, write


def restore(snapshot: Snapshot) -> str:
    """Make the thing what it was before the run, prove it, and return what was done.

    Raise Refused when that cannot be done or is not proven; OSError likewise. The clone is then where it was, or in the
    thing's place.
    """
    told = snapshot.told()
    if told is None:
        raise Refused(f"the snapshot of {snapshot.path} was never finished, so the run had not begun to write there")
    if snapshot.restored:
        return _again(snapshot, told)
    if told["was"] == ENVIRONMENT:
        unlike = _environment(snapshot, told)
    elif told["was"] == "absent":
        unlike = _absent(snapshot, told)
    else:
        unlike = _file(snapshot, told)
    write(snapshot.file("restored"), {})
    if unlike:
        raise Refused(
            f"{snapshot.path} was put back, but is not what its RECORDs say: {brief(unlike)}; "
            "whether it was so before the run is not known"
        )
    return f"{snapshot.path} is as it was before run {snapshot.run}"


def _again(snapshot: Snapshot, told: dict[str, Any]) -> str:
    """Say that what was put back is still so."""
    _sweep(told)
    if differing := snapshot.differences(told):
        raise Refused(
            f"{snapshot.path} was put back before and has changed since: {brief(differing)}; its snapshot is used up"
        )
    return f"{snapshot.path} is as it was before run {snapshot.run}: it was put back already"


def _absent(snapshot: Snapshot, told: dict[str, Any]) -> list[str]:
    if not os.path.lexists(snapshot.path):
        _sweep(told)
        return []
    if snapshot.kind == FILE:
        if os.path.isdir(snapshot.path) and not os.path.islink(snapshot.path):
            raise Refused(f"{snapshot.path} is a folder by now; it is not removed")
        os.unlink(snapshot.path)
    else:
        # Out of sight in one move: half an environment must not pass for one.
        remove(told["clone"])
        os.rename(snapshot.path, told["clone"])
        remove(told["clone"])
    _prove(snapshot, told)
    return []


def _file(snapshot: Snapshot, told: dict[str, Any]) -> list[str]:
    path = snapshot.path
    if os.path.isdir(path) and not os.path.islink(path):
        raise Refused(f"{path} is a folder by now; it is not replaced")
    if not snapshot.differences(told):
        return []
    draft = f"{path}.{secrets.token_hex(4)}"
    try:
        if told["was"] == "link":
            _link(draft, told["entry"])
        else:
            if (fault := snapshot.clone_fault(told)) is not None:
                raise Refused(f"the copy of {path} is not trusted: {fault}; nothing was put back")
            Cloner().file(told["clone"], draft, os.lstat(told["clone"]))
        os.rename(draft, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft)
    if told["was"] == "file":
        _flush_file(path)
    _prove(snapshot, told)
    return []


def _link(path: str, entry: manifest.Entry) -> None:
    os.symlink(entry[manifest.MARK], path)
    if (os.geteuid(), os.getegid()) != (entry[manifest.UID], entry[manifest.GID]):
        os.chown(path, entry[manifest.UID], entry[manifest.GID], follow_symlinks=False)
    os.utime(path, ns=(entry[manifest.MTIME], entry[manifest.MTIME]), follow_symlinks=False)


def _flush_file(path: str) -> None:
    for part in (path, os.path.dirname(path)):
        descriptor = os.open(part, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _environment(snapshot: Snapshot, told: dict[str, Any]) -> list[str]:
    """Return the files of the environment, now in its place, that are not what their RECORDs say."""
    entries = snapshot.entries()
    path, clone = snapshot.path, told["clone"]
    under_way = snapshot.restoring
    there = told["inode"] == _inode(path)
    if not under_way:
        if not os.path.isdir(clone):
            raise Refused(f"the clone {clone} is gone; nothing was touched")
        if differing := manifest.differences(entries, snapshot.describe(clone), inodes=True):
            raise Refused(f"the clone {clone} is not what was taken, so it is not trusted: {brief(differing)}")
        marked = [entry for entry in entries if entry[manifest.MARK] is not None]
        if differing := manifest.contents_differ(clone, marked, {}):
            raise Refused(f"the clone {clone} is not what was taken, so it is not trusted: {brief(differing)}")
        write(snapshot.file("restoring"), {})
    if not there:
        if told["beside"]:
            _take_place(path, clone)
        else:
            _move_in(path, clone, entries)
    flush(path)
    _prove(snapshot, told)
    unmarked = [entry for entry in entries if entry[manifest.MARK] is None]
    unlike = manifest.contents_differ(path, unmarked, manifest.vouched(path, entries))
    # Only now: up to here the run's own state could still be looked at.
    _sweep(told)
    return unlike


def _take_place(path: str, clone: str) -> None:
    """Let the clone take the environment's place; what stood there lies beside it afterwards."""
    if os.path.lexists(path):
        if not os.path.islink(path) and exchange(clone, path):
            return
        remove(replaced(clone))
        os.rename(path, replaced(clone))
    # Killed here, nothing stands at the path: whoever restores again goes on from here.
    os.rename(clone, path)


def _move_in(path: str, clone: str, entries: list[manifest.Entry]) -> None:
    """Let each top entry of the clone, which lies inside the environment, take its place."""
    out = replaced(clone)
    os.makedirs(out, mode=0o700, exist_ok=True)
    tops = {entry[manifest.PATH] for entry in entries if "/" not in entry[manifest.PATH]}
    for name in sorted(tops):
        if not os.path.lexists(os.path.join(clone, name)):
            continue
        if os.path.lexists(os.path.join(path, name)):
            os.rename(os.path.join(path, name), os.path.join(out, name))
        os.rename(os.path.join(clone, name), os.path.join(path, name))
    for name in sorted(os.listdir(path)):
        if name not in tops and not own(name):
            os.rename(os.path.join(path, name), os.path.join(out, name))


def _prove(snapshot: Snapshot, told: dict[str, Any]) -> None:
    if differing := snapshot.differences(told):
        raise Refused(f"{snapshot.path} was put back and is not what it was: {brief(differing)}")


def _sweep(told: dict[str, Any]) -> None:
    """Remove what the restored thing has replaced."""
    if told["was"] in (ENVIRONMENT, "absent") and told.get("clone"):
        for path in leftovers(told["clone"]):
            remove(path)


def _inode(path: str) -> int | None:
    try:
        return os.lstat(path).st_ino
    except OSError:
        return None
