"""What apt would do to a node, from `apt-get -s`: the exact changes, or why it cannot. Nothing on the node changes.

Asked with `{"install": ["foo", "bar=1.0"], "remove": ["baz"], "update": false, "options": [], "after": null}`. All of
it goes into one transaction; what is to be removed and is not there is left out. With `update` the package lists are
fetched into a folder of their own, which is removed again. `options` are further words for apt-get
(`--no-install-recommends`). `after` is what earlier steps are foretold to change: `{"changes": {name: version or null},
"held": [names]}`; apt is then shown dpkg's record as it will be.

Answered with `{"changes": {name: {"before", "after"}}, "problems": ["…"], "available": {name: {"candidate",
"versions"}}, "fetch_problems": ["…"]}`. `changes` is empty where there are problems. `after` null means removed.
"""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
from typing import Any, Collection, Mapping

from stackplan.node.context import Context
from stackplan.node.queries import _apt
from stackplan.node.queries._dpkg import packages
from stackplan.node.queries._foretold_status import foretold_status

LISTS = "/var/lib/apt/lists"


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    folder = tempfile.mkdtemp(prefix="stackplan-apt-")
    # apt fetches as a user of its own, who has to get there.
    os.chmod(folder, 0o755)  # noqa: S103 - package lists are no secret
    try:
        options, says = _fetched(context, folder) if arguments.get("update") else ([], [])
        found = packages(context)
        installed = set(found["packages"])
        after = arguments.get("after")
        if after:
            installed = _installed_after(installed, after["changes"])
            record = os.path.join(folder, "status")
            with open(record, "w", encoding="utf-8") as writer:
                writer.write(foretold_status(context, after, found["architecture"], options))
            # What apt makes of a record that is not the node's must not stay in the node's cache.
            options += ["-o", f"Dir::State::status={record}", "-o", "Dir::Cache::pkgcache="]
        return {**_simulated(arguments, context, installed, options), "fetch_problems": says}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _simulated(
    arguments: Mapping[str, Any], context: Context, installed: Collection[str], options: list[str]
) -> dict[str, Any]:
    install = [str(word) for word in arguments.get("install") or []]
    remove = [str(name) for name in arguments.get("remove") or [] if name in installed]
    names = [word.partition("=")[0] for word in install]
    told: dict[str, Any] = {"changes": {}, "problems": [], "available": _apt.policy(context, names, options)}
    # Of a name that it does not know apt would make a pattern, and install whatever matches.
    strange = [name for name in names if not _known(name, told["available"])]
    if strange:
        return {**told, "problems": [f"Unable to locate package {name}" for name in strange]}
    words = [*install, *(f"{name}-" for name in remove)]
    ran = _apt.simulate(context, words, [*options, *map(str, arguments.get("options") or [])])
    problems = _apt.problems(ran)
    return {**told, "problems": problems, "changes": {} if problems else _apt.parse_changes(ran.text())}


def _installed_after(installed: Collection[str], changes: Mapping[str, Any]) -> set[str]:
    return {*installed, *(name for name, version in changes.items() if version)} - {
        name for name, version in changes.items() if not version
    }


def _known(name: str, available: Mapping[str, Any]) -> bool:
    # apt-cache leaves the node's own architecture out of a name.
    return name in available or name.partition(":")[0] in available


def _fetched(context: Context, folder: str) -> tuple[list[str], list[str]]:
    """Fetch the package lists into `folder`; return the options that make apt use them, and what went wrong."""
    lists = os.path.join(folder, "lists")
    os.makedirs(os.path.join(lists, "partial"))
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
