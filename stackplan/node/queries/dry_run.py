"""What an installer would do in an environment, from its own dry run in a shadow of it; nothing there is touched.

Arguments: `installer` (uv, pip), `venv`, `make`, `install`, `locate` (each null or an invocation: `argv` of texts and
`{"file": text}`, `environment`, `drop_environment`; in the argv `{shadow}` stands for the shadow's folder and `{pip}`
for pip's program), `remove` (canonical names), `places` (wheels that are named themselves), `indexes`, `names`, and
`carried`: what earlier steps are predicted to leave there (`make`, `removed` folders, `added` rows), and
`step_environment`: the step's own `env`.

Shape: `{"path", "refused": null | {"stage", "reason", "output", "exit_code"}, "changes": [{"name", "before", "after"}],
"metadata": {NAME: {"name", "version", "requires", "requires_python", "provides_extra", "folder", "url", "why"}},
"made": null | an answer of `distributions`, "index_checked": bool, "index_findings": [{"name", "index", "why",
"silent"}]}`; a row of an index that may answer in a run yet has `"unfinished": true`.
`changes` has one row a package that would be installed (`before` null: not there; `after` null: only taken away).
"""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from stackplan.node.context import CannotTell, Context, ProbeFailed
from stackplan.node.queries import _cache, _index, _metadata_store, _shadow, distributions
from stackplan.node.queries._installer_run import Installer, Refused, installer_environment
from stackplan.node.queries._lockfile import places as places_of
from stackplan.node.queries._metadata_fetch import described
from stackplan.node.queries._web import Web, passwords, without_user

_UNTOLD = "uv does not tell where it would take it from"


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    indexes, names = arguments.get("indexes") or [], arguments.get("names") or []
    told: dict[str, Any] = {"path": context.expand(str(arguments["venv"])), "refused": None, "made": None}
    web = _web(arguments, indexes, context)
    with ThreadPoolExecutor(1) as pool, _shadow.folder(context, _key(arguments)) as folder:
        # The indexes are asked while the installer thinks.
        asked = pool.submit(_index.findings, indexes, names, web)
        with _cache.at_hand(os.path.join(folder, "cache")) as cache:
            installer = Installer(arguments, os.path.join(folder, "environment"), told["path"], context, cache)
            try:
                told.update(_forecast(arguments, installer, web, context, told))
            except Refused as refused:
                if hasty := _unfinished(asked.result(), silent=True):
                    raise CannotTell(hasty) from refused
                told.update(refused=refused.told(), changes=[], metadata={})
            except ProbeFailed as failed:
                if still := _unfinished(asked.result()):
                    raise CannotTell(f"{still}, and {failed.why}") from failed
                # An installer that waits for an index that is silent has no last word of its own.
                if not any(row["silent"] for row in asked.result()):
                    raise
                told.update(refused=_cut_off(failed), changes=[], metadata={})
        told.update(index_checked=bool(indexes and names), index_findings=asked.result())
    _metadata_store.STORE.make_room()
    return told


def _unfinished(findings: list[dict[str, Any]], *, silent: bool = False) -> str | None:
    """Return what is said of an index that may answer the installer of a run yet, None without one; `silent`: one that
    has sent nothing.
    """
    rows = [row for row in findings if row.get("unfinished") and (row["silent"] or not silent)]
    return f"an index {rows[0]['why']}" if rows else None


def _cut_off(failed: ProbeFailed) -> dict[str, Any]:
    return {"stage": "install", "reason": failed.why, "output": failed.stderr[-8000:], "exit_code": 124}


def _web(arguments: dict[str, Any], indexes: list[str], context: Context) -> Web:
    """Return what asks addresses the way in which the step's installer will."""
    invocation = arguments.get("install") or arguments.get("make") or {}
    step = arguments.get("step_environment") or {}
    return Web(
        installer_environment(invocation, step, context), passwords(indexes), pip=arguments["installer"] == "pip"
    )


def _key(arguments: dict[str, Any]) -> str:
    """Return what tells shadows with other interpreters apart."""
    make = arguments.get("make") or (arguments.get("carried") or {}).get("make") or {}
    interpreter = os.path.realpath(os.path.join(str(arguments["venv"]), "bin", "python"))
    return json.dumps([arguments["venv"], interpreter, make.get("argv")])


def _forecast(
    arguments: dict[str, Any], installer: Installer, web: Web, context: Context, told: dict[str, Any]
) -> dict[str, Any]:
    """Return what would change; that the environment is made counts, in `told`, even if nothing can be installed."""
    carried = arguments.get("carried") or {}
    make = arguments.get("make") or carried.get("make")
    if make:
        installer.make(make)
    else:
        _shadow.copy(installer.venv, installer.shadow, context)
    packages = _shadow.packages_folder(installer.shadow)
    told["made"] = _made(installer, context) if arguments.get("make") else None
    _shadow.alter(packages, carried.get("removed") or [], carried.get("added") or [])
    _shadow.alter(packages, _shadow.folders_of(packages, arguments.get("remove") or []), [])
    if not arguments.get("install"):
        return {"changes": [], "metadata": {}}
    if arguments["installer"] == "pip":
        changes, metadata = installer.pip_forecast(arguments["install"])
    else:
        changes = installer.uv_forecast(arguments["install"])
        metadata = _uv_metadata(arguments, installer, changes, web)
    return {"changes": changes, "metadata": metadata}


def _made(installer: Installer, context: Context) -> dict[str, Any]:
    """Return what `distributions` would say of the new environment."""
    told = distributions.answer({"venv": installer.shadow}, context)
    moved: dict[str, Any] = installer.moved(told)
    # What lies on the way to the shadow does not on the way to the environment.
    return {key: value for key, value in moved.items() if key != "through"}


def _uv_metadata(
    arguments: dict[str, Any], installer: Installer, changes: list[dict[str, Any]], web: Web
) -> dict[str, Any]:
    """Return what the wheels say that uv would install; uv itself tells where they lie."""
    wanted = {row["name"]: row["after"] for row in changes if row["after"] is not None}
    if not wanted:
        return {}
    given = {place: (place, "") for place in arguments.get("places") or []}
    named = {about["name"]: (about, place) for place, about in described(given, web).items() if about.get("name")}
    by_place = {distributions.canonical(name): pair for name, pair in named.items()}
    elsewhere = {name: version for name, version in wanted.items() if name not in by_place}
    located: dict[str, tuple[str, str]] = {}
    if elsewhere and arguments.get("locate"):
        text = installer.locate(arguments["locate"], elsewhere)
        located = places_of(text, installer.python_version())
    told = described({name: located[name] for name in elsewhere if name in located}, web)
    found = {}
    for name in wanted:
        about, place = by_place.get(name) or (told.get(name) or {"why": _UNTOLD}, located.get(name, (None, ""))[0])
        found[name] = dict(
            about, url=without_user(place) if place and "://" in place else place, direct=name in by_place
        )
    return found
