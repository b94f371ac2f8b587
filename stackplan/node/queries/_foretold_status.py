"""dpkg's record as it will be once foretold changes are made, for apt to look at in place of the real one."""

from __future__ import annotations

import re
from typing import Any, Collection, Mapping, Sequence

from stackplan.node.context import CannotTell, Context

STATUS = "/var/lib/dpkg/status"
STATUS_LIMIT = 64 * 1024 * 1024
# What a package has in a repository's list and not in dpkg's record.
_OF_REPOSITORY = re.compile(r"^(?:Filename|Size|MD5sum|SHA\d+|Description-md5|Status|APT-\w+): .*\n", re.MULTILINE)


def foretold_status(context: Context, after: Mapping[str, Any], native: str, options: Sequence[str]) -> str:
    """Return dpkg's record with `changes` (version by name, null for what is gone) made, and just `held` on hold.

    Raise CannotTell for a version that no package list describes any more.
    """
    changes: Mapping[str, Any] = after.get("changes") or {}
    text = context.read(STATUS, STATUS_LIMIT).decode("utf-8", "replace")
    kept = [stanza for stanza in text.split("\n\n") if stanza.strip() and name_of(stanza, native) not in changes]
    added = [_described(context, name, str(version), options) for name, version in changes.items() if version]
    held = {str(name) for name in after.get("held") or []}
    return "\n\n".join(_held(stanza.strip("\n"), name_of(stanza, native), held) for stanza in [*kept, *added]) + "\n"


def name_of(stanza: str, native: str) -> str:
    """Return the name of a package, with its architecture where that is not the node's own."""
    name, architecture = field(stanza, "Package"), field(stanza, "Architecture")
    return name if architecture in (native, "all", "") else f"{name}:{architecture}"


def field(stanza: str, name: str) -> str:
    match = re.search(rf"^{name}: *(.*)$", stanza, re.MULTILINE)
    return match.group(1).strip() if match else ""


def _described(context: Context, name: str, version: str, options: Sequence[str]) -> str:
    ran = context.run(["apt-cache", *options, "show", "--", f"{name}={version}"], timeout_s=60.0)
    for stanza in ran.text().split("\n\n"):
        if field(stanza, "Version") == version:
            head, _, rest = _OF_REPOSITORY.sub("", stanza.strip("\n") + "\n").partition("\n")
            return f"{head}\nStatus: install ok installed\n{rest}"
    raise CannotTell(f"no package list of the node describes {name} {version}")


def _held(stanza: str, name: str, held: Collection[str]) -> str:
    want = "hold" if name in held else "install"
    return re.sub(
        r"^Status: (?:install|hold) ok installed$", f"Status: {want} ok installed", stanza, flags=re.MULTILINE
    )
