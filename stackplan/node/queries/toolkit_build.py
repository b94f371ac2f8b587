"""Where a CUDA toolkit is to go, and what installing one needs: rights, room, apt, the machine's architecture.

Shape: `{"prefix", "user", "uid", "machine", "exists", "version", "place": {"path", "owner", "writable", "free_bytes"},
"apt_get": path | null, "link": {"path", "kind": "link|missing|other", "target", "leads_to"}}`. `version` is that of the
toolkit's `version.json` (13.0.1), null where a trimmed toolkit has none; `place` is the nearest folder that exists.
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
from typing import Any

from stackplan.node.context import Context


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    prefix = context.expand(str(arguments["prefix"])).rstrip("/")
    place = prefix
    while not os.path.isdir(place):
        place = os.path.dirname(place)
    return {
        "prefix": prefix,
        "user": context.user,
        "uid": os.geteuid(),
        "machine": os.uname().machine,
        "exists": os.path.isdir(prefix),
        "version": _version(prefix, context),
        "place": {
            "path": place,
            "owner": _owner(place),
            "writable": os.access(place, os.W_OK | os.X_OK),
            "free_bytes": shutil.disk_usage(place).free,
        },
        "apt_get": context.which("apt-get"),
        "link": _link(str(arguments["link"])),
    }


def _version(prefix: str, context: Context) -> str | None:
    try:
        about = json.loads(context.read(os.path.join(prefix, "version.json")).decode("utf-8"))
        return str(about["cuda"]["version"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def _link(path: str) -> dict[str, Any]:
    if os.path.islink(path):
        return {"path": path, "kind": "link", "target": os.readlink(path), "leads_to": os.path.realpath(path)}
    kind = "other" if os.path.lexists(path) else "missing"
    return {"path": path, "kind": kind, "target": None, "leads_to": None}


def _owner(path: str) -> str:
    uid = os.stat(path).st_uid
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
