"""Files that somebody else wrote, read so that none of them can keep the reader waiting or fill its memory."""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO

LIMIT = 8 << 20
# A distribution of a hundred thousand files has a RECORD of some ten MiB.
RECORD_LIMIT = 64 << 20


def read_plain(path: str, limit: int = LIMIT) -> bytes:
    """Return a regular file's bytes. Raise OSError for what is no regular file and for more than `limit` bytes."""
    with open_plain(path) as stream:
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise OSError(errno.EFBIG, f"larger than {limit >> 20} MiB", path)
    return content


def open_plain(path: str) -> BinaryIO:
    """Return a regular file, open for reading. Raise OSError for what is no regular file.

    A pipe is not waited for, and a device, which may never end, is not read.
    """
    # O_NONBLOCK: to open a pipe that nobody writes would wait for ever.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return os.fdopen(descriptor, "rb")
