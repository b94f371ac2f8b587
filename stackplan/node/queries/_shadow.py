"""A shadow of a virtual environment: its Python and its packages' metadata, in a temporary folder, and no package.

An installer that only plans reads no more than that, so a chain of installs can be predicted in shadows that carry the
predicted changes of the steps before, and the environment itself is not touched, not even by a lock file.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
import time
from typing import Any, Iterator

from stackplan.node import spool
from stackplan.node.context import Context, ProbeFailed
from stackplan.node.plain_file import RECORD_LIMIT, read_plain
from stackplan.node.queries import _environment
from stackplan.node.queries.distributions import canonical, metadata_folders, named_by_folder

MEMORY = "/dev/shm"  # noqa: S108 - a folder of our own is made in it, for this user alone
TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - likewise
PREFIX = "stackplan-shadow-"
LEFT_OVER_AFTER_S = 3600.0
# Of a dist-info folder: what resolvers look at. RECORD, most of its bytes, is for removing files.
_FILES = ("METADATA", "WHEEL", "direct_url.json", "uv_cache.json", "uv_build.json")
_EGG_FILES = ("PKG-INFO", "requires.txt", "top_level.txt")


@contextlib.contextmanager
def folder(context: Context, key: str) -> Iterator[str]:
    """Yield a new folder for a shadow, readable by this user alone; it is gone afterwards, whatever happens.

    Shadows of one `key` stand in the same place where it is free: uv remembers what an interpreter told it by its path.
    """
    path = _made(context, f"{PREFIX}{os.geteuid()}-{hashlib.sha256(key.encode()).hexdigest()[:16]}")
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def copy(venv: str, shadow: str, context: Context) -> None:
    """Make `shadow` a shadow of the environment `venv`. Raise ProbeFailed when it cannot be read or written."""
    environment = _environment.find({"venv": venv}, context)
    if environment.interpreter is None or not environment.own:
        raise ProbeFailed(environment.fault or f"{venv} has no folder of packages")
    packages = os.path.join(shadow, os.path.relpath(environment.own[0], environment.path))
    try:
        os.makedirs(packages)
        os.makedirs(os.path.join(shadow, "bin"))
        shutil.copyfile(os.path.join(venv, "pyvenv.cfg"), os.path.join(shadow, "pyvenv.cfg"))
        os.symlink(os.path.realpath(environment.interpreter), os.path.join(shadow, "bin", "python"))
        for name in metadata_folders(environment.own[0]):
            _copy_metadata(os.path.join(environment.own[0], name), os.path.join(packages, name))
        for name in os.listdir(environment.own[0]):
            if name.endswith(".egg-link"):
                shutil.copyfile(os.path.join(environment.own[0], name), os.path.join(packages, name))
    except OSError as error:
        raise ProbeFailed(f"a shadow of {venv} cannot be made in {shadow}: {error}") from error


def packages_folder(shadow: str) -> str:
    """Return the folder of a shadow that holds the packages' metadata. Raise ProbeFailed."""
    environment = _environment.find({"venv": shadow}, Context())
    if not environment.own:
        raise ProbeFailed(f"{shadow} has no folder of packages")
    return environment.own[0]


def alter(packages: str, removed: list[str], added: list[dict[str, Any]]) -> None:
    """Take the entries `removed` away and lay those `added` down, each `{"folder", "metadata", "url"}`.

    Raise ProbeFailed when they cannot be written.
    """
    try:
        for name in removed:
            _remove(os.path.join(packages, os.path.basename(name)))
        for row in added:
            path = os.path.join(packages, os.path.basename(str(row["folder"])))
            _remove(path)
            os.mkdir(path)
            _write(os.path.join(path, "METADATA"), metadata_text(row["metadata"]))
            if row.get("direct_url"):
                _write(os.path.join(path, "direct_url.json"), str(row["direct_url"]))
    except OSError as error:
        raise ProbeFailed(f"a shadow cannot be changed: {error}") from error


def folders_of(packages: str, names: list[str]) -> list[str]:
    """Return the entries that belong to the distributions `names` (canonical)."""
    return [entry for entry in metadata_folders(packages) if canonical(named_by_folder(entry)[0]) in names]


def metadata_text(about: dict[str, Any]) -> str:
    """Return a METADATA file that says what was kept of one."""
    lines = ["Metadata-Version: 2.4", f"Name: {about['name']}", f"Version: {about['version']}"]
    if about.get("requires_python"):
        lines.append(f"Requires-Python: {about['requires_python']}")
    lines += [f"Requires-Dist: {it}" for it in about.get("requires") or []]
    lines += [f"Provides-Extra: {it}" for it in about.get("provides_extra") or []]
    return "\n".join(lines) + "\n"


def _made(context: Context, name: str) -> str:
    own = context.environment().get("TMPDIR")
    # In memory where that can be: a shadow is hundreds of small files.
    places = [own, *([] if own else [MEMORY]), *TEMPORARY, spool.state_folder()]
    obstacle: OSError | None = None
    for place in places:
        if not place:
            continue
        try:
            if place == places[-1]:
                os.makedirs(place, mode=0o700, exist_ok=True)
            _sweep(place)
            # Resolved, because installers resolve it, too, and what they print is compared with it.
            return os.path.realpath(_new_folder(place, name))
        except OSError as error:
            obstacle = error
    raise ProbeFailed(f"there is no place for temporary files: {obstacle}")


def _new_folder(place: str, name: str) -> str:
    path = os.path.join(place, name)
    try:
        os.mkdir(path, mode=0o700)
    except FileExistsError:
        # Another dry run of the same environment is at work, or somebody else has made it.
        return tempfile.mkdtemp(prefix=PREFIX, dir=place)
    return path


def _sweep(place: str) -> None:
    """Remove what a dry run that was killed has left behind; only this user's own, and nothing that may be in use."""
    with os.scandir(place) as entries:
        left = [entry for entry in entries if entry.name.startswith(PREFIX)]
    for entry in left:
        with contextlib.suppress(OSError):
            status = entry.stat(follow_symlinks=False)
            old = time.time() - status.st_mtime > LEFT_OVER_AFTER_S
            if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and old:
                shutil.rmtree(entry.path, ignore_errors=True)


def _copy_metadata(source: str, target: str) -> None:
    if not os.path.isdir(source):
        _copy(source, target)
        return
    os.mkdir(target)
    for name in _EGG_FILES if source.endswith(".egg-info") else _FILES:
        with contextlib.suppress(FileNotFoundError):
            _copy(os.path.join(source, name), os.path.join(target, name))


def _copy(source: str, target: str) -> None:
    content = read_plain(source, RECORD_LIMIT)
    with open(target, "wb") as stream:
        stream.write(content)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(text)


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
