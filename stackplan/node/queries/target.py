"""What stands at a path that an action is going to write: a file, a folder, a link, nothing.

Shape: `{"path", "user", "kind": "file|folder|link|other|missing", "size", "mode", "owner", "group", "sha256", "target",
"modified_ns", "folder", "folder_kind": "folder|missing|other", "folder_owner", "folder_writable", "home", "new_file":
{"mode", "owner", "group", "uid", "gid"}}`. A link that is asked for with `follow` is answered by what it leads to.
`sha256` is null for what is no file, cannot be read, or is larger than 64 MiB: then size and time of the last change
have to do. `new_file` is what a file gets that the user makes; its mode is null where the kernel tells no umask.
Where the question says `secret`, there is `"withheld": ["sha256", "size"]`: a secret content could be tried out by
them, so they may be used and not kept.
"""

from __future__ import annotations

import grp
import hashlib
import os
import pwd
import re
import stat
from typing import Any

from stackplan.node.context import Context, ProbeFailed

STATUS = "/proc/self/status"
HASHED_UP_TO = 64 * 1024 * 1024


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    path = context.expand(str(arguments["path"]))
    if arguments.get("follow"):
        path = os.path.realpath(path)
    folder = os.path.dirname(os.path.abspath(path))
    told = {"path": path, "user": context.user, "home": context.home, "new_file": _new_file()}
    if arguments.get("secret"):
        told["withheld"] = ["sha256", "size"]
    return {**told, **_place(context, folder), **_about(path, context)}


def _new_file() -> dict[str, Any]:
    uid, gid = os.geteuid(), os.getegid()
    mask = _umask()
    mode = None if mask is None else f"{0o666 & ~mask:04o}"
    return {"mode": mode, "owner": _user(uid), "group": _group(gid), "uid": uid, "gid": gid}


def _umask() -> int | None:
    """Return the umask, read: to ask the system call for it is to change it for a moment."""
    try:
        with open(STATUS, encoding="ascii", errors="replace") as status:
            match = re.search(r"^Umask:\s*([0-7]+)", status.read(), re.MULTILINE)
    except OSError:
        return None
    return int(match.group(1), 8) if match else None


def _about(path: str, context: Context) -> dict[str, Any]:
    try:
        status = os.lstat(context.rooted(path))
    except (FileNotFoundError, NotADirectoryError):
        return {"kind": "missing"}
    except OSError as error:
        raise ProbeFailed(f"{path} cannot be looked at: {error.strerror}") from error
    about = {
        "kind": _kind(status.st_mode),
        "size": status.st_size,
        "mode": f"{stat.S_IMODE(status.st_mode):04o}",
        "owner": _user(status.st_uid),
        "group": _group(status.st_gid),
        "modified_ns": status.st_mtime_ns,
        "sha256": None,
        "target": None,
    }
    if about["kind"] == "link":
        about["target"] = os.readlink(context.rooted(path))
    elif about["kind"] == "file" and status.st_size <= HASHED_UP_TO:
        about["sha256"] = _digest(context.rooted(path))
    return about


def _place(context: Context, folder: str) -> dict[str, Any]:
    rooted = context.rooted(folder)
    if not os.path.lexists(rooted):
        return {"folder": folder, "folder_kind": "missing", "folder_owner": None, "folder_writable": False}
    return {
        "folder": folder,
        "folder_kind": "folder" if os.path.isdir(rooted) else "other",
        "folder_owner": _user(os.stat(rooted).st_uid) if os.path.exists(rooted) else None,
        "folder_writable": os.access(rooted, os.W_OK | os.X_OK),
    }


def _kind(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "link"
    if stat.S_ISREG(mode):
        return "file"
    return "folder" if stat.S_ISDIR(mode) else "other"


def _digest(path: str) -> str | None:
    try:
        with open(path, "rb") as source:
            return hashlib.sha256(source.read()).hexdigest()
    except PermissionError:
        return None


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _group(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)
