"""The kernels that tools compiled for a user and kept, and which of them do not go with what is installed any more.

Asked with `{"venv": …}` or `{"python": …}`, and `"holders": true` for who has them open. The answer, behind what every
answer about an environment begins with:
    {"user": "sglang", "cuda": "13.0", "packages": {"torch": "2.11.0+cu130"}, "complete": true,
     "caches": [{"tool": "triton", "path": "/home/sglang/.triton/cache", "named_by": null, "exists": true,
                 "real": "/data/sglang/triton/cache", "fault": null, "entries": 340, "files": 2720, "bytes": 1288490188,
                 "stale_entries": 312, "stale_files": 2496, "stale_bytes": 1181116006,
                 "reasons": [{"why": "older than torch 2.11.0+cu130", "entries": 312}],
                 "stale": [{"path": "/data/sglang/triton/cache/4XQ…", "bytes": 3785728, "written": 1760000000}],
                 "mixed_entries": 1, "strays": ["/data/sglang/triton/cache/7RA…/notes.txt"], "stray_count": 1,
                 "blind": ["/data/sglang/triton/cache/9B…: Permission denied"], "blind_folders": 1}],
     "holders": [{"pid": 41233, "name": "python", "tool": "triton"}], "hidden": 0}
`real` is where the folder lies, null where that is `path`. `stale` are the largest of the stale entries, `written` the
time of the oldest file in one. `mixed_entries` would be stale, too, and hold something that the tool does not write
(`strays`): they are not counted as stale, and never removed. `blind` are folders that could not be looked into, and
from which kernels may be loaded. Of lists like these the first twenty are told. `complete` false: there is more than
was looked at, and the numbers are "at least". A package was installed when its dist-info folder or the RECORD in it was
last written; for another user that is looked at as that user.
"""

from __future__ import annotations

import os
import re
from typing import Any

from stackplan.node.context import Context
from stackplan.node.queries import _cached_files, _environment, _kernel_cache_places, _kernel_caches, torch
from stackplan.node.queries._kernel_cache_places import Cache
from stackplan.node.queries._kernel_caches import Budget, Packages

_DIST_INFO = re.compile(r"(?P<name>[A-Za-z0-9._-]+?)-(?P<version>[^-]+)\.dist-info")


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    environment = _environment.find(arguments, context)
    told = dict(environment.answer(), user=context.user, cuda=None, packages={}, complete=True, caches=[])
    told.update(holders=[], hidden=0)
    if not environment.is_environment:
        return told
    places = places_of(context)
    packages = packages_of(arguments, context, places)
    budget = Budget()
    rows = [_kernel_caches.told(cache, packages, budget) for cache in places]
    told.update(cuda=packages.cuda, packages=dict(sorted(packages.versions.items())))
    told.update(caches=rows, complete=not budget.spent)
    if arguments.get("holders"):
        holders, hidden = _cached_files.holders({cache.path: cache.tool for cache in places}, context)
        told.update(holders=holders, hidden=hidden)
    return told


def places_of(context: Context) -> list[Cache]:
    return _kernel_cache_places.caches(context.environment(), context.home, context.user)


def packages_of(arguments: dict[str, Any], context: Context, places: list[Cache]) -> Packages:
    """Return what is installed of the packages that make kernels. Raise ProbeFailed, CannotTell."""
    environment = _environment.find(arguments, context)
    wanted = {name for cache in places for name in cache.packages}
    versions: dict[str, str] = {}
    installed: dict[str, int] = {}
    for folder in environment.inherited + environment.own:
        for name, version, when in _installed(folder, wanted):
            versions[name] = version
            installed[name] = when
    told = torch.answer(arguments, context)
    if told["installed"]:
        versions["torch"] = told["version"]
    return Packages(versions, installed, told["cuda"])


def _installed(folder: str, wanted: set[str]) -> list[tuple[str, str, int]]:
    found = []
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    for entry in names:
        match = _DIST_INFO.fullmatch(entry)
        name = re.sub(r"[-_.]+", "-", match["name"]).lower() if match else None
        if match is None or name not in wanted:
            continue
        path = os.path.join(folder, entry)
        times = [os.stat(it).st_mtime_ns for it in (path, os.path.join(path, "RECORD")) if os.path.exists(it)]
        if times and name is not None:
            found.append((name, match["version"], max(times)))
    return found
