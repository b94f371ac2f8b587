"""Make a symbolic link lead somewhere, in one move."""

from __future__ import annotations

import os
import secrets
from typing import Any

from stackplan.node.tasks._place import Refused, user_name


def perform(arguments: dict[str, Any]) -> int:
    """Make `path` a symbolic link to `target`. What is no link (a file, a folder) is never replaced."""
    path = os.path.expanduser(arguments["path"])
    target = os.path.expanduser(arguments["target"])
    try:
        print(link(path, target), flush=True)
    except Refused as error:
        print(error, flush=True)
        return 1
    except OSError as error:
        print(f"{error.filename or path}: {error.strerror}", flush=True)
        return 1
    return 0


def link(path: str, target: str) -> str:
    """Make `path` lead to `target` and return what was done, worded for people; raise Refused when it may not be."""
    path = os.path.join(os.path.realpath(os.path.dirname(os.path.abspath(path))), os.path.basename(path))
    before = None
    if os.path.islink(path):
        before = os.readlink(path)
        if before == target:
            return f"{path} leads to {target} already"
    elif os.path.exists(path):
        what = "folder" if os.path.isdir(path) else "file"
        raise Refused(f"{path} is a {what}, not a link; it is not replaced. Move it away in an earlier step")
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise Refused(f"the folder {folder} does not exist; make it in an earlier step")
    draft = os.path.join(folder, f".{os.path.basename(path)}.{secrets.token_hex(4)}")
    try:
        os.symlink(target, draft)
    except PermissionError:
        owner = user_name(os.stat(folder).st_uid)
        raise Refused(f"{user_name(os.geteuid())} may not write into {folder}, which belongs to {owner}") from None
    try:
        os.rename(draft, path)
    except BaseException:
        os.remove(draft)
        raise
    return f"{path} -> {target}" + (f" (was {before})" if before is not None else "")
