"""What apt would do to a node, from `apt-get -s`: the exact changes, or why it cannot. Nothing on the node changes.

Asked with `{"install": ["foo", "bar=1.0"], "remove": ["baz"], "update": false, "options": [], "after": []}`. All of it
goes into one transaction; what is to be removed and is not there is left out. With `update` the package lists are
fetched into a folder of their own, which is removed again. `options` are further words for apt-get
(`--no-install-recommends`). `after` holds earlier requests, `{"install", "remove"}` each, that are taken for done:
their own changes are not told again.

Answered with `{"changes": {name: {"before", "after"}}, "problems": ["…"], "available": {name: {"candidate",
"versions"}}, "fetch_problems": ["…"]}`. `changes` is empty where there are problems. `after` null means removed.
"""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
from typing import Any, Mapping

from stackplan.node.context import Context
from stackplan.node.queries import _apt
from stackplan.node.queries._dpkg import packages

LISTS = "/var/lib/apt/lists"


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    rows = packages(context)["packages"]
    if not arguments.get("update"):
        return _simulated(arguments, context, rows, [], [])
    folder = tempfile.mkdtemp(prefix="stackplan-apt-")
    try:
        options, says = _fetched(context, folder)
        return _simulated(arguments, context, rows, options, says)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _simulated(
    arguments: Mapping[str, Any], context: Context, rows: Mapping[str, Any], where: list[str], says: list[str]
) -> dict[str, Any]:
    options = [*where, *map(str, arguments.get("options") or [])]
    before = _words(arguments.get("after") or [], rows)
    asked = [*(arguments.get("after") or []), arguments]
    install = [str(word) for word in arguments.get("install") or []]
    told: dict[str, Any] = {"changes": {}, "problems": [], "fetch_problems": says}
    told["available"] = _apt.policy(context, [word.partition("=")[0] for word in install], where)
    # Of a name that it does not know apt would make a pattern, and install whatever matches.
    strange = [word for word in install if not _known(word, told["available"])]
    if strange:
        return {**told, "problems": [f"Unable to locate package {word.partition('=')[0]}" for word in strange]}
    ran = _apt.simulate(context, _words(asked, rows), options)
    problems = _apt.problems(ran)
    if problems:
        return {**told, "problems": problems}
    changes = _apt.parse_changes(ran.text())
    if before:
        earlier = _apt.simulate(context, before, options)
        problems = _apt.problems(earlier)
        if problems:
            return {**told, "problems": problems}
        changes = _on_top(changes, _apt.parse_changes(earlier.text()))
    return {**told, "changes": changes}


def _known(word: str, available: Mapping[str, Any]) -> bool:
    name = word.partition("=")[0]
    # apt-cache leaves the node's own architecture out of a name.
    return name in available or name.partition(":")[0] in available


def _words(requests: list[Any], rows: Mapping[str, Any]) -> list[str]:
    """Return one transaction for several requests, the later of two that name the same package."""
    words: dict[str, str] = {}
    for request in requests:
        words.update({name: f"{name}-" for name in map(str, request.get("remove") or []) if name in rows})
        words.update({str(word).partition("=")[0]: str(word) for word in request.get("install") or []})
    return list(words.values())


def _on_top(changes: dict[str, Any], earlier: dict[str, Any]) -> dict[str, Any]:
    """Return what is changed once `earlier` is done."""
    found = {}
    for name in {**earlier, **changes}:
        now, then = changes.get(name), earlier.get(name)
        # What only the earlier requests change is undone by the later ones.
        before = then["after"] if then else changes[name]["before"]
        after = now["after"] if now else earlier[name]["before"]
        if before != after or not then:
            found[name] = {"before": before, "after": after}
    return found


def _fetched(context: Context, folder: str) -> tuple[list[str], list[str]]:
    """Fetch the package lists into `folder`; return the options that make apt use them, and what went wrong."""
    lists = os.path.join(folder, "lists")
    os.makedirs(os.path.join(lists, "partial"))
    # apt fetches as a user of its own, who has to get there.
    os.chmod(folder, 0o755)  # noqa: S103 - package lists are no secret
    for path in glob.glob(os.path.join(context.rooted(LISTS), "*")):
        # What has not changed on the server is then not fetched again.
        if os.path.isfile(path) and os.path.basename(path) != "lock" and os.access(path, os.R_OK):
            shutil.copy2(path, lists)
    options = ["-o", f"Dir::State::lists={lists}", "-o", f"Dir::Cache={folder}/cache"]
    argv = ["apt-get", "-q", *options, "-o", "APT::Update::Error-Mode=any", "update"]
    ran = context.run(argv, timeout_s=_apt.TIMEOUT_S, environment=_apt.ENVIRONMENT)
    return options, fetch_problems(ran.exit_code, ran.text() + "\n" + ran.error_text())


def fetch_problems(exit_code: int, output: str) -> list[str]:
    """Return what `apt-get update` says of repositories that it could not fetch, or may not trust.

    The exit status alone does not tell: apt calls a failed download a warning, and goes on with old lists.
    """
    marks = ("E: ", "W: Failed to fetch", "W: GPG error", "W: Some index files failed")
    found = [line for line in output.splitlines() if line.startswith(marks)]
    telling = [line[3:].strip() for line in found if "Some index files failed" not in line]
    if telling or exit_code == 0:
        return list(dict.fromkeys(telling))
    return [line[3:].strip() for line in found] or [f"apt-get update ended with exit status {exit_code}"]
