"""What stands at a path: its type, mode, owner, link target, and on demand its digest and content.

Asked with `{"path": …, "sha256": false, "content": false}`. A link is followed for all but `link`, which holds where
it leads; `exists` is about the link's end, so a dangling link is `exists` false with a `link`. `through` are the links
on the way and its end (`_trail`), where there are any. Files up to 16 MiB are always hashed, larger ones when `sha256`
asks for it. `content` beyond 1 MiB is not read (`content_fault` says so). `withheld` names the fields that may be used
and not kept, because what is secret could be tried out by them: the question says `secret`, or not everybody may read
the file.
"""

from __future__ import annotations

import grp
import hashlib
import os
import pwd
import stat
from typing import Any

from stackplan.node.context import Context, ProbeFailed
from stackplan.node.queries._trail import trail

HASHED_UNASKED = 16 * 1024 * 1024
LONGEST_CONTENT = 1024 * 1024
_TYPES = (
    (stat.S_ISREG, "file"),
    (stat.S_ISDIR, "directory"),
    (stat.S_ISFIFO, "fifo"),
    (stat.S_ISSOCK, "socket"),
    (stat.S_ISCHR, "character-device"),
    (stat.S_ISBLK, "block-device"),
)


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    path = context.expand(arguments["path"])
    told: dict[str, Any] = {"path": path, "exists": False, "link": None}
    if through := trail(path):
        told["through"] = through
    try:
        told["link"] = os.readlink(path) if stat.S_ISLNK(os.lstat(path).st_mode) else None
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return told
    except OSError as error:
        raise ProbeFailed(f"cannot look at {path}: {error.strerror}") from error
    told.update(
        exists=True,
        type=next((word for test, word in _TYPES if test(status.st_mode)), "other"),
        mode=f"{stat.S_IMODE(status.st_mode):04o}",
        owner=_name(pwd.getpwuid, status.st_uid),
        group=_name(grp.getgrgid, status.st_gid),
        uid=status.st_uid,
        gid=status.st_gid,
        size=status.st_size,
        modified_ns=status.st_mtime_ns,
        sha256=None,
        content=None,
        content_fault=None,
    )
    withheld = _withheld(arguments, status.st_mode)
    if withheld:
        told["withheld"] = withheld
    if told["type"] == "file":
        _read(told, path, digest=bool(arguments.get("sha256")), content=bool(arguments.get("content")))
    return told


def _withheld(arguments: dict[str, Any], mode: int) -> list[str]:
    if not stat.S_ISREG(mode):
        return []
    if arguments.get("secret"):
        return ["sha256", "size", "content"]
    return [] if mode & stat.S_IROTH else ["sha256", "content"]


def _read(told: dict[str, Any], path: str, *, digest: bool, content: bool) -> None:
    """Add digest and content. What was asked for and may not be read raises ProbeFailed."""
    try:
        if digest or told["size"] <= HASHED_UNASKED:
            told["sha256"] = _sha256(path)
        if content and told["size"] > LONGEST_CONTENT:
            told["content_fault"] = f"it is larger than {LONGEST_CONTENT} bytes"
        elif content:
            with open(path, "rb") as stream:
                raw = stream.read(LONGEST_CONTENT)
            told["content"] = raw.decode("utf-8", "replace")
            told["utf8"] = raw == told["content"].encode()
    except OSError as error:
        if digest or content:
            raise ProbeFailed(f"cannot read {path}: {error.strerror}") from error


def _sha256(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        for chunk in iter(lambda: stream.read(1024 * 1024), b""):
            digest.update(chunk)
    return digest.hexdigest()


def _name(look_up: Any, number: int) -> str:
    """Return the user's or group's name, or the number where it has none."""
    try:
        return str(look_up(number)[0])
    except KeyError:
        return str(number)
