"""Putting a thing back as its snapshot has it, proven before and after; interrupted anywhere, it can be done again.

A clone that is no longer what was taken is not trusted: nothing is touched then. The folder takes its place by one
exchange of two names; where the node cannot do that, by two renames, and where the clone lies inside the environment,
by two for each of its top folders. Programs that run from the replaced files keep them until they end.
What is replaced is removed where it is what runs left there; what others have changed since, or may have, is kept.
A full disk stops none of it that needs no room: marks are set by renaming files that are there.
"""

from __future__ import annotations

import errno
import os
import secrets
from typing import Any

from stackplan.node import manifest
from stackplan.node.clone import Cloner, exchange, flush, remove
from stackplan.node.left import changed_since
from stackplan.node.snapshot import ENVIRONMENT, FILE, Refused, Snapshot, brief, leftovers, own, replaced


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
    snapshot.mark("restored")
    if unlike:
        raise Refused(
            f"{snapshot.path} was put back, but is not what its RECORDs say: {brief(unlike)}; "
            "whether it was so before the run is not known"
        )
    kept = f"; what it replaced is kept in {', '.join(snapshot.kept())}" if snapshot.kept() else ""
    return f"{snapshot.path} is as it was before run {snapshot.run}{kept}"


def _begin(snapshot: Snapshot) -> None:
    """Decide, once, whether what is replaced is kept, and note that putting back begins."""
    if snapshot.restoring:
        return
    if changed_since(snapshot) != []:
        snapshot.mark("keeping")
    snapshot.mark("restoring")


def _again(snapshot: Snapshot, told: dict[str, Any]) -> str:
    """Say that what was put back is still so."""
    _sweep(snapshot, told)
    if differing := snapshot.differences(told):
        raise Refused(
            f"{snapshot.path} was put back before and has changed since: {brief(differing)}; its snapshot is used up"
        )
    return f"{snapshot.path} is as it was before run {snapshot.run}: it was put back already"


def _absent(snapshot: Snapshot, told: dict[str, Any]) -> list[str]:
    if not os.path.lexists(snapshot.path):
        _sweep(snapshot, told)
        return []
    if snapshot.kind == FILE:
        if os.path.isdir(snapshot.path) and not os.path.islink(snapshot.path):
            raise Refused(f"{snapshot.path} is a folder by now; it is not removed")
        _begin(snapshot)
        if snapshot.keeping:
            snapshot.keep(snapshot.path)
        else:
            os.unlink(snapshot.path)
    else:
        _begin(snapshot)
        _sweep(snapshot, told)
        # Out of sight in one move: half an environment must not pass for one.
        os.rename(snapshot.path, told["clone"])
        _sweep(snapshot, told)
    _prove(snapshot, told)
    return []


def _file(snapshot: Snapshot, told: dict[str, Any]) -> list[str]:
    path = snapshot.path
    if os.path.isdir(path) and not os.path.islink(path):
        raise Refused(f"{path} is a folder by now; it is not replaced")
    if not snapshot.differences(told):
        return []
    if (fault := snapshot.clone_fault(told)) is not None:
        raise Refused(f"the copy of {path} is not trusted: {fault}; nothing was put back")
    _begin(snapshot)
    draft = f"{path}.{secrets.token_hex(4)}"
    try:
        if told["was"] == "link":
            _link(draft, told["entry"])
        else:
            draft = _draft(told["clone"], draft)
        if snapshot.keeping:
            _keep_file(snapshot)
        os.rename(draft, path)
    finally:
        # The clone itself, where a disk has no room for another copy, stays what there is of the thing.
        if draft != told.get("clone"):
            remove(draft)
    if told["was"] == "file":
        _flush_file(path)
    _prove(snapshot, told)
    return []


def _draft(clone: str, draft: str) -> str:
    """Return where what a file was lies ready to take its place: a copy; the clone where there is no room for one."""
    try:
        Cloner().file(clone, draft, os.lstat(clone))
    except OSError as error:
        remove(draft)
        near = os.stat(clone).st_dev == os.stat(os.path.dirname(draft)).st_dev
        if not near or error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        return clone
    return draft


def _keep_file(snapshot: Snapshot) -> None:
    """Keep what stands at the path under another name, and leave it there until something takes its place."""
    path = snapshot.path
    if not os.path.lexists(path) or any(os.path.samestat(os.lstat(it), os.lstat(path)) for it in snapshot.kept()):
        return
    try:
        os.link(path, snapshot.place_to_keep(), follow_symlinks=False)
    except OSError:
        # Where nothing can be linked it is moved: nothing stands there for a moment.
        snapshot.keep(path)


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
        _begin(snapshot)
    if not there:
        if told["beside"]:
            _take_place(snapshot, clone)
        else:
            _move_in(path, clone, entries)
    flush(path)
    _prove(snapshot, told)
    unmarked = [entry for entry in entries if entry[manifest.MARK] is None]
    unlike = manifest.contents_differ(path, unmarked, manifest.vouched(path, entries))
    # Only now: up to here the run's own state could still be looked at.
    _sweep(snapshot, told)
    return unlike


def _take_place(snapshot: Snapshot, clone: str) -> None:
    """Let the clone take the environment's place; what stood there lies beside it afterwards."""
    path = snapshot.path
    if os.path.lexists(path):
        if not os.path.islink(path) and exchange(clone, path):
            return
        _away(snapshot, replaced(clone))
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


def _sweep(snapshot: Snapshot, told: dict[str, Any]) -> None:
    """Remove what the restored thing has replaced, or keep it where that was decided."""
    if told["was"] in (ENVIRONMENT, "absent") and told.get("clone"):
        if told.get("beside") is False:
            # Inside the environment it is a folder from which everything was moved out.
            remove(told["clone"])
        for path in leftovers(told["clone"]):
            _away(snapshot, path)


def _away(snapshot: Snapshot, path: str) -> None:
    if snapshot.keeping:
        snapshot.keep(path)
    else:
        remove(path)


def _inode(path: str) -> int | None:
    try:
        return os.lstat(path).st_ino
    except OSError:
        return None
