"""A Python package that stackplan needs and that cannot be imported: told as that, with the command that mends it."""

import importlib.util
import shlex
import sys
import traceback

_DISTRIBUTIONS = {"yaml": "pyyaml", "nacl": "pynacl", "OpenSSL": "pyopenssl", "_cffi_backend": "cffi"}
"""Where a package on the index has another name than the module that it brings."""


def missing_package(error: ImportError) -> tuple[str, str] | None:
    """Return what cannot be imported, and what mends it; None where that is a module or a name of stackplan's own.

    `ModuleNotFoundError` names the module that is not there. Any other `ImportError` comes from a module that is there
    and fails: the one in whose import the failure came about is named.
    """
    absent = isinstance(error, ModuleNotFoundError)
    module = error.name if absent else _failing(error)
    root = (module or "").partition(".")[0]
    if not root or root == "stackplan" or root in sys.stdlib_module_names:
        return None
    # A part of a package that is there otherwise is of a version that does not fit, or damaged.
    absent = absent and root == module and not _is_there(root)
    name = _DISTRIBUTIONS.get(root, root)
    how = "is not installed" if absent else f"cannot be imported ({error})"
    again = "" if absent else "--force-reinstall "
    summary = f"the Python package `{name}`, which stackplan needs, {how} for {sys.executable}"
    python = shlex.quote(sys.executable)
    return summary, f"`{python} -m pip install {again}{name}` mends it"


def _failing(error: ImportError) -> str | None:
    """Return the last module in whose code the import failed."""
    frames = [str(frame.f_globals.get("__name__")) for frame, _ in traceback.walk_tb(error.__traceback__)]
    names = [name for name in frames if not name.startswith(("importlib.", "_frozen_importlib"))]
    return error.name or (names[-1] if names else None)


def _is_there(root: str) -> bool:
    try:
        return importlib.util.find_spec(root) is not None
    except (ImportError, ValueError):
        return False
