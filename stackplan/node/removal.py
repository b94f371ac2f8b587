"""Removing a tree by descriptors, as long as it is the one that was looked at.

A name may lead somewhere else by the time that it is used: whoever may write into a folder above can put a link in the
place of another. Hence every folder is opened from the one above, never through a link, and compared with what was
listed before anything in it is removed.
"""

from __future__ import annotations

import contextlib
import errno
import os
from typing import Iterator

from stackplan.node.queries._kernel_cache_listing import Listing, Seen

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Changed(Exception):
    """Something is not what it was when it was looked at; `path` is where."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class Partly(OSError):
    """A tree could be removed in part only; `gone` is how many files are, and `filename` what was in the way."""

    def __init__(self, number: int, why: str, path: str, gone: int) -> None:
        super().__init__(number, why, path)
        self.gone = gone


def open_folder(path: str) -> int:
    """Return a descriptor of a folder that is itself no link. Raise OSError."""
    return os.open(path, _FOLDER)


def remove(root: int, name: str, listing: Listing) -> None:
    """Remove the tree `listing` that is found below the folder `root` by the relative path `name`.

    Nothing of it is removed where anything was added, replaced or written since it was listed: raise Changed then, and
    OSError where a folder of it may not be written. Where it fails all the same after the first file is gone, raise
    Partly. What vanished as a whole is removed.
    """
    gone: list[str] = []
    try:
        _remove(root, name, listing, gone)
    except FileNotFoundError as error:
        if not _is_there(root, name):
            return
        if gone:
            raise Partly(errno.ESTALE, "it changed after it was looked at", listing.path, len(gone)) from error
        raise Changed(listing.path) from None
    except Changed as changed:
        if not gone:
            raise
        raise Partly(errno.ESTALE, "it changed after it was looked at", changed.path, len(gone)) from changed
    except OSError as error:
        if not gone:
            raise
        raise Partly(error.errno or 0, error.strerror or str(error), listing.path, len(gone)) from error


def _remove(root: int, name: str, listing: Listing, gone: list[str]) -> None:
    """Remove the tree; `gone` gets the files that were removed, as each of them is."""
    with _below(root, os.path.dirname(name)) as above:
        top = os.path.basename(name)
        for folder in listing.folders:
            with _listed(above, top, folder, listing) as descriptor:
                _compare(descriptor, folder, listing)
        _permit(above, os.path.dirname(listing.path))
        for folder in listing.folders:
            with _listed(above, top, folder, listing) as descriptor:
                if listing.files.get(folder) or listing.folders_in.get(folder):
                    _permit(descriptor, listing.whole(folder))
                if listing.folders[folder].device != os.fstat(above).st_dev:
                    raise OSError(errno.EXDEV, "another file system is mounted there", listing.whole(folder))
        for folder in sorted(listing.folders, key=lambda it: it.count("/"), reverse=True):
            # The top comes last: "" and "a" have as many slashes.
            if folder:
                _empty(above, top, folder, listing, gone)
        _empty(above, top, "", listing, gone)
        os.rmdir(top, dir_fd=above)


def _permit(descriptor: int, path: str) -> None:
    """Raise PermissionError where whoever acts may not remove what is in a folder; its path is what it names."""
    if not os.access(".", os.W_OK | os.X_OK, dir_fd=descriptor, effective_ids=True):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)


def _empty(above: int, top: str, folder: str, listing: Listing, gone: list[str]) -> None:
    """Remove the files in a folder, and the folders in it, which were emptied before."""
    with _listed(above, top, folder, listing) as descriptor:
        for name, seen in listing.files[folder].items():
            _compare_file(descriptor, name, seen, listing.whole(os.path.join(folder, name)))
            os.unlink(name, dir_fd=descriptor)
            gone.append(name)
        for name in listing.folders_in.get(folder, []):
            os.rmdir(name, dir_fd=descriptor)


def _compare(descriptor: int, folder: str, listing: Listing) -> None:
    files = listing.files.get(folder, {})
    if different := set(os.listdir(descriptor)) ^ {*files, *listing.folders_in.get(folder, [])}:
        raise Changed(listing.whole(os.path.join(folder, min(different))))
    for name, seen in files.items():
        _compare_file(descriptor, name, seen, listing.whole(os.path.join(folder, name)))


def _compare_file(descriptor: int, name: str, seen: Seen, path: str) -> None:
    if Seen.of(os.stat(name, dir_fd=descriptor, follow_symlinks=False)) != seen:
        raise Changed(path)


@contextlib.contextmanager
def _listed(above: int, top: str, folder: str, listing: Listing) -> Iterator[int]:
    """Yield a descriptor of a listed folder, each on the way to it compared with what was listed."""
    parts = folder.split("/") if folder else []
    descriptor = os.dup(above)
    try:
        for index, part in enumerate([top, *parts]):
            relative = "/".join(parts[:index])
            descriptor = _step(descriptor, part)
            if not listing.folders[relative].is_place_of(os.fstat(descriptor)):
                raise Changed(listing.whole(relative))
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _below(root: int, relative: str) -> Iterator[int]:
    descriptor = os.dup(root)
    try:
        for part in relative.split("/") if relative else []:
            descriptor = _step(descriptor, part)
        yield descriptor
    finally:
        os.close(descriptor)


def _step(descriptor: int, name: str) -> int:
    """Return a descriptor of a folder in another one, which is closed."""
    below = os.open(name, _FOLDER, dir_fd=descriptor)
    os.close(descriptor)
    return below


def _is_there(root: int, name: str) -> bool:
    try:
        with _below(root, os.path.dirname(name)) as above:
            os.stat(os.path.basename(name), dir_fd=above, follow_symlinks=False)
    except OSError:
        return False
    return True
