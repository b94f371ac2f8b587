"""What lies in a folder of a kernel cache, listed once: by this it is judged, and as long as it is this, removed."""

from __future__ import annotations

import errno
import os
import stat
from typing import Callable, Iterator, NamedTuple


class Seen(NamedTuple):
    """What tells one file from another that was put in its place, or written into it, later."""

    mode: int
    device: int
    inode: int
    size: int
    modified_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> Seen:
        return cls(status.st_mode, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)

    @property
    def is_plain(self) -> bool:
        return stat.S_ISREG(self.mode)

    def is_place_of(self, status: os.stat_result) -> bool:
        """Return whether that is the same folder; what is in it may have changed."""
        return (self.device, self.inode) == (status.st_dev, status.st_ino) and stat.S_ISDIR(status.st_mode)


class Listing:
    """The tree below `path`. Of `files` and `folders` the names are relative to it; the folder itself is "".

    `files` are by the folder in which they are, then by their own name, and hold links and all else that is no folder;
    `folders_in` are the names of the folders in one. Links are never followed. `blind` are the folders that could not
    be looked into, and why. It begins with the folder itself alone, and `complete` goes below.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.files: dict[str, dict[str, Seen]] = {}
        self.folders: dict[str, Seen] = {}
        self.folders_in: dict[str, list[str]] = {}
        self.blind: dict[str, OSError] = {}
        self._left = [""]
        try:
            self.folders[""] = Seen.of(os.lstat(path))
        except OSError as error:
            self.blind[""] = error
        else:
            self._look(self._left.pop())

    def complete(self, spend: Callable[[], bool], spent: Callable[[], bool]) -> bool:
        """List what is below as well; return whether all of it could be. `spend` is asked for every file whether it may
        still be looked at, `spent` for every folder whether nothing may.
        """
        if not all(spend() for _ in self.files.get("", {})):
            return False
        while self._left and not spent():
            folder = self._left.pop()
            self._look(folder)
            if not all(spend() for _ in self.files.get(folder, {})):
                return False
        return not self._left

    def _look(self, folder: str) -> None:
        here: dict[str, Seen] = {}
        below: list[str] = []
        try:
            with os.scandir(self.whole(folder)) as found:
                for child in found:
                    try:
                        seen = Seen.of(child.stat(follow_symlinks=False))
                    except FileNotFoundError:
                        continue
                    if stat.S_ISDIR(seen.mode):
                        below.append(child.name)
                        self.folders[os.path.join(folder, child.name)] = seen
                        self._left.append(os.path.join(folder, child.name))
                    else:
                        here[child.name] = seen
        except (FileNotFoundError, NotADirectoryError) as error:
            # It was removed meanwhile.
            if not folder:
                self.blind[folder] = error
        except OSError as error:
            self.blind[folder] = error
        self.files[folder] = here
        self.folders_in[folder] = below

    def whole(self, relative: str) -> str:
        return os.path.join(self.path, relative) if relative else self.path

    def every_file(self) -> Iterator[tuple[str, Seen]]:
        """Yield all files by their paths from here."""
        for folder, files in self.files.items():
            for name, seen in files.items():
                yield os.path.join(folder, name), seen

    def read(self, relative: str, limit: int) -> bytes:
        """Return as much of a listed file. Raise OSError where it is none, or is not the one that was listed."""
        seen = self.files.get(os.path.dirname(relative), {}).get(os.path.basename(relative))
        if seen is None or not seen.is_plain:
            raise OSError(errno.EINVAL, "not a regular file", relative)
        # O_NONBLOCK: to open a pipe that was put there meanwhile would wait for ever.
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW
        with os.fdopen(os.open(self.whole(relative), flags), "rb") as stream:
            if Seen.of(os.fstat(stream.fileno())) != seen:
                raise OSError(errno.ESTALE, "it changed meanwhile", relative)
            return stream.read(limit)
