"""Under which name a revision has a playbook that was renamed since; told by its words."""

from collections import Counter
from collections.abc import Callable
from pathlib import PurePosixPath

from stackplan.language.git_files import GitFiles
from stackplan.model.diagnosis import Invalid

_SUFFIXES = frozenset({".yaml", ".yml"})
_MOST_READ = 200
_ALIKE = 0.5


def former_path(files: GitFiles, now: bytes, still_there: Callable[[str], bool]) -> str | None:
    """Return the path, from the root, of the file most like `now` of those that are gone since; None if none is.

    At least half of the words have to be the same.
    """
    gone = [it for it in files.paths() if PurePosixPath(it).suffix in _SUFFIXES and not still_there(it)]
    likeness = {path: _likeness(files, path, now) for path in gone[:_MOST_READ]}
    best = max(likeness, key=lambda path: likeness[path], default=None)
    return best if best is not None and likeness[best] >= _ALIKE else None


def _likeness(files: GitFiles, path: str, now: bytes) -> float:
    try:
        before = files.read(files.root / path, path)
    except Invalid:
        return 0.0
    old, new = Counter(before.split()), Counter(now.split())
    return (old & new).total() / max(old.total(), new.total(), 1)
