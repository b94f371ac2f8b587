"""What takes long to make and can be copied is made once for all workers of a run of the tests."""

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def made_once(path: Path) -> Iterator[Path | None]:
    """Yield where to make what shall be at `path`, or None when it is there; others wait meanwhile.

    It comes to `path` when the block ends well, and stays unmade when it does not.
    """
    with path.with_name(f"{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if path.exists():
            yield None
            return
        unfinished = path.with_name(f"{path.name}.unfinished")
        yield unfinished
        unfinished.rename(path)
