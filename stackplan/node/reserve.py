"""Room that is set aside while there is some, so that taking back can begin on a disk that was filled since."""

from __future__ import annotations

import contextlib
import os

# A job's notes and its output.
SIZE = 256 * 1024


def set_aside(state: str) -> None:
    """Set room aside below the state folder, unless it is; none to set aside is no failure."""
    path = _path(state)
    with contextlib.suppress(OSError):
        if os.path.exists(path):
            return
        descriptor = os.open(f"{path}.part", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            # Zeros would take no room on some filesystems.
            left = SIZE
            while left > 0:
                left -= os.write(descriptor, os.urandom(left))
        except OSError:
            os.unlink(f"{path}.part")
            raise
        finally:
            os.close(descriptor)
        os.rename(f"{path}.part", path)


def give_up(state: str) -> bool:
    """Give the room back to the disk, and tell whether there was some."""
    try:
        os.unlink(_path(state))
    except OSError:
        return False
    return True


def _path(state: str) -> str:
    return os.path.join(state, "reserve")
