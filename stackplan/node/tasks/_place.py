"""Putting a finished file where it belongs, in one move."""

from __future__ import annotations

import os
import pwd
import stat


class Refused(Exception):
    """Why the place cannot take the file, worded for people."""


def check_folder(path: str) -> str:
    """Return the folder of `path`; raise Refused when nothing can be put there."""
    folder = os.path.dirname(path)
    if os.path.isdir(path) and not os.path.islink(path):
        raise Refused(f"{path} is a folder; it is not replaced by a file")
    if not os.path.isdir(folder):
        raise Refused(f"the folder {folder} does not exist; make it in an earlier step")
    if not os.access(folder, os.W_OK | os.X_OK):
        owner = os.stat(folder).st_uid
        raise Refused(f"{user_name(os.geteuid())} may not write into {folder}, which belongs to {user_name(owner)}")
    return folder


def default_mode(path: str) -> int:
    """Return the mode that the file at `path` has, or that a new one would get."""
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def put(finished: str, path: str) -> None:
    """Move `finished`, in the same folder, to `path`; on disk before anybody can see it there."""
    _flush(finished)
    os.rename(finished, path)
    _flush(os.path.dirname(path))


def _flush(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def user_name(uid: int) -> str:
    """Return the name of a user, or its number when it has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"
