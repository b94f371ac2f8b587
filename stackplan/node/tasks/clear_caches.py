"""Remove the stale entries of a user's kernel caches, and nothing else."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any

from stackplan.node import own_way, removal
from stackplan.node.context import CannotTell, Context, ProbeFailed
from stackplan.node.identity import NoSuchUser, become, other
from stackplan.node.queries import _kernel_cache_places, _kernel_caches, kernel_caches
from stackplan.node.queries._kernel_cache_places import Cache
from stackplan.node.queries._kernel_caches import MOST_NAMED, Budget, Entry, Packages

_UNBOUNDED_S = 24 * 3600.0


def perform(arguments: dict[str, Any]) -> int:
    """Remove what is stale for `venv` or `python` in `caches`, as `user` where that is given.

    `caches` are the folders that the query `kernel_caches` found, each with `tool`, `path` and `named_by`. The
    variables of this process do not say where they are: a step's `env` is set here, and the query has not seen it. What
    is stale in them is judged anew right before. An entry is removed whole, and only as long as it is what was judged;
    links in it are never followed. One that holds what its tool does not write is left and told. One that cannot be
    removed is told, and the task then ends with status 1.
    """
    user = arguments.get("user")
    try:
        someone_else = other(user)
    except NoSuchUser as error:
        print(f"stackplan: {error}")
        return 1
    if someone_else is None:
        return _clear(arguments)
    if os.geteuid() != 0:
        print(f"stackplan: only root and {someone_else} can remove what is {someone_else}'s")
        return 1
    return _as_user(someone_else, arguments)


def _as_user(user: str, arguments: dict[str, Any]) -> int:
    """Do it in a process of the user's own: root would follow what the user could put in its way."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            become(user)
            status = _clear(arguments)
        except BaseException:  # noqa: BLE001 - a forked child must never return into the task's own flow
            print("stackplan:", traceback.format_exc().strip().splitlines()[-1])
        finally:
            sys.stdout.flush()
            os._exit(status)
    _, status = os.waitpid(pid, 0)
    return 0 if status == 0 else 1


def _clear(arguments: dict[str, Any]) -> int:
    context = Context()
    try:
        places = [_kernel_cache_places.named(it["tool"], it["path"], it["named_by"]) for it in arguments["caches"]]
        packages = kernel_caches.packages_of(arguments, context, places)
    except (CannotTell, ProbeFailed) as error:
        print(f"stackplan: what is stale is not known: {error.why}")
        return 1
    # All of it has to be looked at here, however much there is; the step's own time limit is what bounds it.
    budget = Budget(files=sys.maxsize, seconds=_UNBOUNDED_S)
    return 1 if sum(_clear_cache(cache, packages, budget) for cache in places) else 0


def _clear_cache(cache: Cache, packages: Packages, budget: Budget) -> int:
    """Remove what is stale in a cache; return how much of it could not be removed."""
    removed = files = size = failed = 0
    blind: dict[str, str] = {}
    try:
        root = removal.open_folder(own_way.resolve(cache.path))
    except (FileNotFoundError, NotADirectoryError):
        return 0
    except OSError as error:
        print(f"stackplan: {cache.path} cannot be looked into: {error.strerror}")
        return 1
    try:
        for entry in _kernel_caches.judged(cache, packages, budget, blind):
            if entry.why is None:
                continue
            if entry.strays:
                print(f"stackplan: {entry.path} is left: {_named(entry.strays)} in it is not {cache.tool}'s")
                continue
            if (obstacle := _remove(root, entry)) is not None:
                failed += 1
                print(f"stackplan: {entry.path} is not removed: {obstacle}")
                continue
            removed, files, size = removed + 1, files + entry.files, size + entry.bytes
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        failed += 1
        print(f"stackplan: {cache.path} cannot be looked into: {error.strerror}")
    finally:
        os.close(root)
    for path, why in sorted(blind.items()):
        print(f"stackplan: {path} is left: it cannot be looked into: {why}")
    print(f"{cache.tool}: removed {removed} entries of {cache.path}, {files} files, {size} bytes")
    return failed


def _named(strays: list[str]) -> str:
    more = len(strays) - MOST_NAMED
    return ", ".join(strays[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _remove(root: int, entry: Entry) -> str | None:
    """Remove an entry as it was judged; return what was in the way."""
    try:
        removal.remove(root, entry.name, entry.listing)
    except removal.Changed as changed:
        return f"{changed.path} changed after it was looked at"
    except removal.Partly as partly:
        return f"{partly.filename}: {partly.strerror}; {partly.gone} of its {entry.files} files are gone"
    except OSError as error:
        why = error.strerror or str(error)
        return f"{error.filename}: {why}" if os.path.isabs(str(error.filename)) else why
    return None
