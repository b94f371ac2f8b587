"""Where uv is, which the lab's nodes need to fill their environments."""

import shutil
from pathlib import Path

from stackplan.lab.failure import LabFailed


def find_uv() -> Path:
    """Return the uv that came with `stackplan[lab]`, else the one on the PATH. Raise LabFailed without one."""
    found = _packaged() or shutil.which("uv")
    if found is None:
        raise LabFailed(
            "the lab needs uv, and there is none on this machine",
            remedy="install uv, which the extra `lab` brings along (`pip install '.[lab]'` in the clone)",
        )
    return Path(found)


def _packaged() -> str | None:
    try:
        from uv import find_uv_bin  # noqa: PLC0415 - an optional dependency, needed by the lab alone

        return find_uv_bin()
    except (ImportError, FileNotFoundError):
        return None
