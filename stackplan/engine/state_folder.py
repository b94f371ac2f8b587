"""Where the controller keeps what it has to remember: a 0700 folder that `STACKPLAN_STATE` moves."""

import errno
import os
from collections.abc import Mapping
from pathlib import Path

from stackplan.model.diagnosis import Diagnosis, Invalid


def state_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder, which need not exist yet: `STACKPLAN_STATE`, else platformdirs' state folder."""
    if moved := environment.get("STACKPLAN_STATE"):
        return Path(moved).expanduser()
    import platformdirs  # noqa: PLC0415 - its import is spared where the variable says all

    return Path(platformdirs.user_state_dir("stackplan", appauthor=False))


def private_folder(path: Path) -> Path:
    """Make the folder, readable by its owner alone, and those above it. Raise Invalid where that cannot be.

    A folder that is there already keeps its mode: it may be shared on purpose, and what is made inside it is private.
    """
    try:
        missing = [folder for folder in (path, *path.parents) if not folder.exists()]
        for folder in reversed(missing):
            folder.mkdir(mode=0o700, exist_ok=True)
        if not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    except OSError as error:
        raise unusable(path, error) from error
    return path


def unusable(path: Path, error: OSError) -> Invalid:
    """Return (for raising) what to say when `path` cannot be written."""
    return Invalid(
        [
            Diagnosis(
                summary=f"cannot write {path}",
                expected="a folder of your own with room on its disk",
                observed=error.strerror or str(error),
                remedy="make room there, or set STACKPLAN_STATE to another folder",
            )
        ]
    )
