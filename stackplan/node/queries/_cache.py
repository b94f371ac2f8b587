"""The cache that installers get for dry runs: stackplan's own, bounded, so that a plan does not fill the user's.

It lies in the state folder (`$XDG_STATE_HOME/stackplan/HOST/cache`) and makes a plan that is made again fast. Where
that cannot be written, or has no room, a cache in the shadow's folder has to do, which is gone afterwards.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from typing import Iterator, Mapping

from stackplan.node import spool

LARGEST = 256 * 1024 * 1024
AGE_S = 14 * 24 * 3600.0
ROOM = 128 * 1024 * 1024
_CHOSEN = ("UV_CACHE_DIR", "UV_OFFLINE", "UV_NO_CACHE", "PIP_CACHE_DIR", "PIP_NO_CACHE_DIR", "PIP_NO_INDEX")


@contextlib.contextmanager
def at_hand(spare: str) -> Iterator[dict[str, str]]:
    """Yield the variables that give an installer its cache, and hold that to its bounds afterwards.

    `spare` is the folder of the cache where the own one cannot be used.
    """
    folder = os.path.join(spool.state_folder(), "cache")
    lock = _held(folder)
    if lock is None:
        yield _variables(spare)
        return
    try:
        yield _variables(folder)
    finally:
        _tidy(folder, lock)
        os.close(lock)


def chosen(environment: Mapping[str, str]) -> bool:
    """Return whether an environment speaks of the cache: an installer that may ask nobody needs what is there."""
    return any(environment.get(name) for name in _CHOSEN)


def _variables(folder: str) -> dict[str, str]:
    return {"UV_CACHE_DIR": os.path.join(folder, "uv"), "PIP_CACHE_DIR": os.path.join(folder, "pip")}


def _held(folder: str) -> int | None:
    """Return a descriptor by which the cache is held, so that nobody removes it; None where there is none to use."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        status = os.statvfs(folder)
        if status.f_bavail * status.f_frsize < ROOM:
            return None
        lock = os.open(folder + ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_SH)
        # Whoever tidied up meanwhile may have taken it away.
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError:
        os.close(lock)
        return None
    return lock


def _tidy(folder: str, lock: int) -> None:
    """Remove the cache when it has become too large or too old, unless another dry run is using it."""
    with contextlib.suppress(OSError):
        begun = os.path.join(folder, "begun")
        if not os.path.exists(begun):
            with open(begun, "wb"):
                pass
        if time.time() - os.stat(begun).st_mtime <= AGE_S and _size(folder) <= LARGEST:
            return
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)


def _size(folder: str) -> int:
    """Return how many bytes lie below a folder."""
    total = 0
    left = [folder]
    while left:
        with contextlib.suppress(OSError), os.scandir(left.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    left.append(entry.path)
                else:
                    with contextlib.suppress(OSError):
                        total += entry.stat(follow_symlinks=False).st_size
    return total
