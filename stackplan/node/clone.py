"""Copies of files and folders as cheap as the filesystem allows: shared blocks, else hard links, else bytes.

A hard link is the same file: whoever writes into one writes into both. Installers replace what a RECORD names (they
remove the file and make another), and Python replaces what it compiles; so only these are linked, and never scripts,
settings and an installer's own papers, which tools are known to write into; nor the small texts that people change by
hand to try something. That it stayed so is looked at afterwards.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import shutil
import stat
from typing import Callable, Container

from stackplan.node.manifest import nothing, passing, walk

FICLONE = 0x40049409
REFLINK, LINK, COPY = "reflink", "hard links", "copy"
# What a filesystem answers that shares no blocks, or not these.
_NOT_SHARED = frozenset(
    {errno.EOPNOTSUPP, errno.ENOTTY, errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EPERM, errno.EACCES}
)
# What stands against one link: another filesystem, too many links, links to strangers' files forbidden, none at all.
_NOT_LINKED = frozenset({errno.EXDEV, errno.EMLINK, errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.ENOSYS})
# What is larger in `bin` is a program that a wheel brought, no script that an installer wrote.
SCRIPT = 64 * 1024
# What people open in an editor. Copies of the 6,000 files of an environment take some 30 MiB and a second or two.
TEXT = 256 * 1024
TEXTS = (".py", ".json", ".txt", ".toml", ".cfg", ".ini", ".conf", ".yaml", ".yml", ".sh", ".jinja")
WITHOUT_LINKS = frozenset({"vfat", "msdos", "exfat"})


def linkable(path: str, size: int, vouched: Container[str]) -> bool:
    """Tell whether nobody writes into the file at `path` of an environment in place."""
    if passing(path):
        return True
    folder, _, name = path.rpartition("/")
    if (
        (path.startswith("bin/") and size <= SCRIPT)
        or folder.endswith((".dist-info", ".egg-info"))
        or name.endswith(".pth")
        or (name.endswith(TEXTS) and size <= TEXT)
    ):
        return False
    return path in vouched


class Cloner:
    """Makes one clone. `ways` tells how many files were taken over how, `copied` how many bytes were written."""

    def __init__(self, may_link: Callable[[str, int], bool] | None = None) -> None:
        self.ways = {REFLINK: 0, LINK: 0, COPY: 0}
        self.copied = 0
        self.others: list[str] = []
        self._may_link = may_link
        self._shares = True

    @property
    def way(self) -> str:
        """The cheapest way that was taken."""
        return next((way for way in (REFLINK, LINK) if self.ways[way]), COPY)

    def folder(self, source: str, target: str, skip: Callable[[str], bool] = nothing) -> None:
        """Make `target`, which must not be there, a clone of the folder `source`. Raise OSError.

        Sockets and the like are not taken over; `others` names them.
        """
        os.mkdir(target, 0o700)
        folders = [("", os.stat(source))]
        for path, status in walk(source):
            if skip(path):
                continue
            below = os.path.join(target, path)
            if stat.S_ISDIR(status.st_mode):
                os.mkdir(below, 0o700)
                folders.append((path, status))
            else:
                self._entry(path, os.path.join(source, path), below, status)
        # Last, and the innermost first: a folder's time moves with what is put into it, and it may be read-only.
        for path, status in reversed(folders):
            _like(os.path.join(source, path), os.path.join(target, path), status)

    def _entry(self, path: str, source: str, target: str, status: os.stat_result) -> None:
        if stat.S_ISLNK(status.st_mode):
            os.symlink(os.readlink(source), target)
            _like(source, target, status)
        elif stat.S_ISREG(status.st_mode):
            self.file(
                source, target, status, may_link=self._may_link is not None and self._may_link(path, status.st_size)
            )
        else:
            self.others.append(path)

    def file(self, source: str, target: str, status: os.stat_result, *, may_link: bool = False) -> None:
        """Make `target`, which must not be there, a clone of the file `source`. Raise OSError."""
        if self._shares:
            if self._share(source, target):
                _like(source, target, status)
                self.ways[REFLINK] += 1
                return
            self._shares = False
        if may_link:
            try:
                os.link(source, target, follow_symlinks=False)
            except OSError as error:
                if error.errno not in _NOT_LINKED:
                    raise
            else:
                self.ways[LINK] += 1
                return
        if status.st_size <= TEXT:
            _copy_small(source, target, status)
        else:
            shutil.copyfile(source, target, follow_symlinks=False)
            _like(source, target, status)
        self.ways[COPY] += 1
        self.copied += status.st_size

    def _share(self, source: str, target: str) -> bool:
        with open(source, "rb") as reader, open(target, "xb") as writer:
            try:
                fcntl.ioctl(writer.fileno(), FICLONE, reader.fileno())
            except OSError as error:
                os.unlink(target)
                if error.errno not in _NOT_SHARED:
                    raise
                return False
        return True


def _copy_small(source: str, target: str, status: os.stat_result) -> None:
    """Do what copying and `_like` do, in a fraction of the calls: of small files there are thousands."""
    reader = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        writer = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            while data := os.read(reader, TEXT):
                view = memoryview(data)
                while view:
                    view = view[os.write(writer, view) :]
            if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
                os.fchown(writer, status.st_uid, status.st_gid)
            for name in _attributes(reader):
                with contextlib.suppress(OSError):
                    os.setxattr(writer, name, os.getxattr(reader, name))
            os.fchmod(writer, stat.S_IMODE(status.st_mode))
            os.utime(writer, ns=(status.st_atime_ns, status.st_mtime_ns))
        finally:
            os.close(writer)
    finally:
        os.close(reader)


def _attributes(descriptor: int) -> list[str]:
    try:
        return os.listxattr(descriptor)
    except OSError:
        return []


def _like(source: str, target: str, status: os.stat_result) -> None:
    """Give `target` the owner, attributes, mode and time of `source`."""
    made = os.lstat(target)
    if (made.st_uid, made.st_gid) != (status.st_uid, status.st_gid):
        os.chown(target, status.st_uid, status.st_gid, follow_symlinks=False)
    shutil.copystat(source, target, follow_symlinks=False)


def flush(path: str) -> None:
    """Have everything that was written to the filesystem of `path` on its disk, as far as the node can do that."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
        if syncfs is None or syncfs(descriptor) != 0:
            os.sync()
    finally:
        os.close(descriptor)


def remove(path: str) -> None:
    """Remove a file, a link or a whole folder, read-only folders included; nothing there is nothing to do."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(status.st_mode):
        os.unlink(path)
        return
    for below, found in walk(path) if os.access(path, os.R_OK | os.X_OK) else ():
        if stat.S_ISDIR(found.st_mode) and found.st_mode & 0o700 != 0o700:
            with contextlib.suppress(OSError):
                os.chmod(os.path.join(path, below), 0o700)
    with contextlib.suppress(OSError):
        os.chmod(path, 0o700)
    shutil.rmtree(path)


def exchange(one: str, other: str) -> bool:
    """Let two paths of one filesystem change places in one move; tell whether the node can do that. Raise OSError."""
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        return False
    here, both_exist = -100, 2
    if renameat2(here, os.fsencode(one), here, os.fsencode(other), both_exist) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP):
        return False
    raise OSError(number, os.strerror(number), one, None, other)
