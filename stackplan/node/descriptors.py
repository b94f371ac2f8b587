"""The file descriptors that a forked process keeps, and those that it must not."""

from __future__ import annotations

import contextlib
import os


def silence() -> None:
    """Lay the three standard streams on /dev/null, so that nothing can be printed into the frames."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    if null > 2:
        os.close(null)


def close_others(keep: set[int]) -> None:
    """Close every descriptor but the standard streams and `keep`: what stays open keeps connections and locks alive."""
    for name in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else map(str, range(256)):
        if int(name) > 2 and int(name) not in keep:
            with contextlib.suppress(OSError):
                os.close(int(name))
