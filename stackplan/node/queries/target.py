"""What stands at a path that an action is going to write: a file, a folder, a link, nothing.

Shape: `{"path", "user", "kind": "file|folder|link|other|missing", "size", "mode", "owner", "group", "uid", "gid",
"sha256", "target", "modified_ns", "folder", "folder_kind": "folder|missing|other", "folder_owner", "folder_writable",
"home", "new_file": {"mode", "owner", "group", "uid", "gid"}, "may_give"}`. A link that is asked for with `follow` is
answered by what it leads to. `sha256` is null for what is no file, cannot be read, or is larger than 64 MiB: then size
and time of the last change have to do. `new_file` is what a file gets that the user makes; its mode is null where the
kernel tells no umask. `through` are the links on the way and its end (`_trail`), where they differ from `path`.
`may_give`: whether the user may make a file that belongs to whom the question says, or else stays whose it is. Where
it names an `owner` or a `group`, `wanted` is `{"owner", "uid", "group", "gid"}`: each as name and as number, null where
the node knows no such one. `withheld` names what may be used and not kept, because a content could be tried out by it:
where the question says `secret` the digest and the size, of a file that not everybody may read the digest.
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
from stackplan.node.queries._trail import trail

STATUS = "/proc/self/status"
HASHED_UP_TO = 64 * 1024 * 1024


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    path = context.expand(str(arguments["path"]))
    through = _through(path, follow=bool(arguments.get("follow")))
    if arguments.get("follow"):
        path = os.path.realpath(path)
    folder = os.path.dirname(os.path.abspath(path))
    told = {"path": path, "user": context.user, "home": context.home, "new_file": _new_file()}
    if through := [place for place in through if place != path]:
        told["through"] = through
    about = _about(path, context)
    if arguments.get("secret"):
        told["withheld"] = ["sha256", "size"]
    elif about["kind"] == "file" and not int(about["mode"], 8) & stat.S_IROTH:
        told["withheld"] = ["sha256"]
    told.update(_giving(arguments, about))
    return {**told, **_place(context, folder), **about}


def _through(path: str, *, follow: bool) -> list[str]:
    """Return the trail of what is written: of a path that is not followed, of the folder in which it stands."""
    if follow:
        return trail(path)
    folder, name = os.path.split(path)
    ways = trail(folder)
    return [*ways[:-1], os.path.join(ways[-1], name)] if ways else []


def _giving(arguments: dict[str, Any], about: dict[str, Any]) -> dict[str, Any]:
    """Return whose a file will be, and whether this user may make it so: nobody but root gives files away."""
    owner, group = arguments.get("owner"), arguments.get("group")
    uid = _number(pwd.getpwnam, owner) if owner is not None else about.get("uid", os.geteuid())
    gid = _number(grp.getgrnam, group) if group is not None else about.get("gid", os.getegid())
    allowed = os.geteuid() == 0 or (uid == os.geteuid() and gid in (os.getegid(), *os.getgroups()))
    told: dict[str, Any] = {"may_give": allowed}
    if owner is not None or group is not None:
        names = {"owner": None if uid is None else _user(uid), "group": None if gid is None else _group(gid)}
        told["wanted"] = {**names, "uid": uid, "gid": gid}
    return told


def _number(look_up: Any, name: str) -> int | None:
    """Return the number of a user or group of this name or number, None where there is none."""
    if name.isdigit():
        return int(name)
    try:
        # The third field of both: pw_uid and gr_gid.
        return int(look_up(name)[2])
    except KeyError:
        return None


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
        "uid": status.st_uid,
        "gid": status.st_gid,
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
