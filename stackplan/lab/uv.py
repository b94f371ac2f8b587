"""Where uv is, which the lab's nodes need to fill their environments."""

import shutil
from pathlib import Path


class UvMissing(Exception):
    """There is no uv on this machine."""

    def __str__(self) -> str:
        return "the lab needs uv, and there is none here: run `pip install 'stackplan[lab]'`, or put uv on the PATH"


def find_uv() -> Path:
    """Return the uv that came with `stackplan[lab]`, else the one on the PATH. Raise UvMissing without one."""
    try:
        from uv import find_uv_bin  # noqa: PLC0415 - an optional dependency, needed by the lab alone
    except ImportError:
        found = shutil.which("uv")
    else:
        try:
            found = find_uv_bin()
        except FileNotFoundError:
            found = shutil.which("uv")
    if found is None:
        raise UvMissing
    return Path(found)
