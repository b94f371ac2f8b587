"""What an error of the operating system at a path of ours means, and what to do about it on the node."""

from __future__ import annotations

import errno
import os

_ELSEWHERE = "set XDG_STATE_HOME for the login to a folder that can be written"
_REMEDIES = {
    errno.ENOSPC: "make room on that disk",
    errno.EDQUOT: "make room there",
    errno.EROFS: "mount it so that it can be written",
    errno.EACCES: "give the login the right to write there",
    errno.EPERM: "give the login the right to write there",
}


def obstacle(error: OSError, path: str) -> tuple[str, str]:
    """Return what stands in the way at `path` (or where the error says), and how to remove it."""
    where = os.fsdecode(error.filename) if error.filename else path
    if os.path.islink(where) and not os.path.exists(where):
        return f"{where} is a link to {os.readlink(where)}, which is not there", "make its target, or remove the link"
    if error.errno == errno.EISDIR:
        return f"{where} is a folder, where a file belongs", f"move {where} out of the way"
    if error.errno in (errno.ENOTDIR, errno.EEXIST) and (odd := _not_a_folder(where)) is not None:
        return f"{odd} is not a folder", f"move {odd} out of the way, or {_ELSEWHERE}"
    remedy = _REMEDIES.get(error.errno or 0, "look at it on the node")
    return f"{where}: {error.strerror}", f"{remedy}, or {_ELSEWHERE}"


def _not_a_folder(path: str) -> str | None:
    """Return the part of `path` that something else than a folder stands at, though folders lie below it."""
    part = path
    while part not in ("", "/"):
        if os.path.exists(part):
            return None if os.path.isdir(part) else part
        part = os.path.dirname(part)
    return None
