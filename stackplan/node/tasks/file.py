"""Give a file its content, mode and owner in one move."""

from __future__ import annotations

import grp
import os
import pwd
import stat
import tempfile
from typing import Any

from stackplan.node.tasks._place import Refused, check_folder, default_mode, put


def perform(arguments: dict[str, Any]) -> int:
    """Make the file at `path` hold `content`, with `mode`, `owner` and `group` where they are given.

    A link at `path` stays a link: the file that it leads to is written. Mode and owner that are not given stay those of
    the file that was there. Readers see the old file or the new one, never a part, never another mode. Of a content
    that is `secret` no size is told.
    """
    path = os.path.expanduser(arguments["path"])
    content = arguments["content"].encode("utf-8", "surrogateescape")
    try:
        target = os.path.realpath(path)
        if target != os.path.abspath(path):
            print(f"{path} leads to {target}, which is written", flush=True)
        check_folder(target)
        owner, group = _owner(arguments.get("owner"), arguments.get("group"), target)
        given = arguments.get("mode")
        mode = default_mode(target) if given is None else int(given, 8)
        if _is_so(target, content, mode, owner, group):
            print(f"{target} is so already", flush=True)
            return 0
        _write(target, content, mode, (owner, group))
    except Refused as error:
        print(error, flush=True)
        return 1
    except OSError as error:
        print(f"{error.filename or path}: {error.strerror}", flush=True)
        return 1
    size = "" if arguments.get("secret") else f", {len(content)} bytes"
    print(f"{target} written{size}, mode {mode:04o}", flush=True)
    return 0


def _owner(owner: str | None, group: str | None, target: str) -> tuple[int, int]:
    """Return the numbers of the owner and group that the file shall have."""
    uid, gid = os.geteuid(), os.getegid()
    if os.path.exists(target):
        status = os.stat(target)
        uid, gid = status.st_uid, status.st_gid
    if owner is not None:
        try:
            uid = int(owner) if owner.isdigit() else pwd.getpwnam(owner).pw_uid
        except KeyError:
            raise Refused(f"there is no user {owner} on the node") from None
    if group is not None:
        try:
            gid = int(group) if group.isdigit() else grp.getgrnam(group).gr_gid
        except KeyError:
            raise Refused(f"there is no group {group} on the node") from None
    return uid, gid


def _is_so(target: str, content: bytes, mode: int, owner: int, group: int) -> bool:
    try:
        status = os.stat(target)
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(status.st_mode):
        raise Refused(f"{target} is not a plain file; it is not replaced")
    wanted = (mode, owner, group, len(content))
    if (stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid, status.st_size) != wanted:
        return False
    with open(target, "rb") as source:
        return source.read() == content


def _write(target: str, content: bytes, mode: int, owner: tuple[int, int]) -> None:
    folder, name = os.path.split(target)
    descriptor, draft = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as writer:
            writer.write(content)
        status = os.stat(draft)
        if (status.st_uid, status.st_gid) != owner:
            try:
                os.chown(draft, *owner)
            except PermissionError:
                raise Refused(
                    f"only root can give {target} to {owner[0]}:{owner[1]}; set `become: true` on the step"
                ) from None
        # After the owner, because changing the owner clears the set-user-ID bits.
        os.chmod(draft, mode)
        put(draft, target)
    except BaseException:
        if os.path.exists(draft):
            os.remove(draft)
        raise
