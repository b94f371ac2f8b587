"""The real place of a path on which no other user can have put a link."""

from __future__ import annotations

import errno
import os
import stat

_MOST_LINKS = 40


def resolve(path: str) -> str:
    """Return where a whole path ends; links are followed that are this user's own or root's, as on the way to a home.

    Raise OSError where it ends nowhere, and for a link of another user's: anybody can make one in /tmp, to whatever
    this user may write.
    """
    left = path.split("/")[::-1]
    place = "/"
    links = 0
    while left:
        part = left.pop()
        if part in ("", "."):
            continue
        if part == "..":
            place = os.path.dirname(place)
            continue
        here = os.path.join(place, part)
        status = os.lstat(here)
        if not stat.S_ISLNK(status.st_mode):
            place = here
            continue
        if status.st_uid not in (0, os.geteuid()):
            which = "it" if here == path else here
            raise PermissionError(errno.EPERM, f"{which} is a link of another user's")
        links += 1
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        target = os.readlink(here)
        if target.startswith("/"):
            place = "/"
        left += target.split("/")[::-1]
    return place
