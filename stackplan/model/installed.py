"""The entry points of other packages that are installed. Standard library only.

`importlib.metadata` takes a while to import, and hardly anybody has a package with such an entry point: a look at the
files on the path comes first.
"""

import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def entry_points(group: str) -> "tuple[EntryPoint, ...]":
    """Return the entry points of a group, in the order in which Python finds their packages."""
    elsewhere = any(it is not PathFinder and hasattr(it, "find_distributions") for it in sys.meta_path)
    if not elsewhere and not any(_may_name(group, Path(folder)) for folder in dict.fromkeys(sys.path)):
        return ()
    from importlib import metadata  # noqa: PLC0415 - see the module's docstring

    return tuple(metadata.entry_points(group=group))


def _may_name(group: str, folder: Path) -> bool:
    """Return whether a package in a folder of the path may have such an entry point; of an archive nothing is known."""
    try:
        names = os.listdir(folder)  # noqa: PTH208 - a Path for each of some thousand names takes its time
    except OSError:
        return folder.is_file()
    records = [name for name in names if name.lower().endswith((".dist-info", ".egg-info")) or name == "EGG-INFO"]
    return any(group.encode() in _content(folder / name / "entry_points.txt") for name in records)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
