"""apt-get's own simulation and what apt knows of a package. Shared by queries and tasks; changes nothing."""

from __future__ import annotations

import re
from typing import Any, Iterable, Sequence

from stackplan.node.context import Context, Ran

# Nobody is there to answer a question, and restarting services is for another step to do, in sight. SUSPEND ends
# needrestart's hook before it looks (Ubuntu 24.04 restarts by default, asked or not); older ones heed MODE, and list.
ENVIRONMENT = {
    "DEBIAN_FRONTEND": "noninteractive",
    "DEBIAN_PRIORITY": "critical",
    "NEEDRESTART_MODE": "l",
    "NEEDRESTART_SUSPEND": "1",
    "APT_LISTCHANGES_FRONTEND": "none",
    "UCF_FORCE_CONFFOLD": "1",
}
TIMEOUT_S = 120.0
# Inst libfoo [1.0] (2.0 Debian:12/stable [amd64]) · Inst bar (1.0 localhost [all]) [] · Remv baz [1.0]
_CHANGE = re.compile(r"^(Inst|Remv|Purg) (\S+)(?: \[([^\]\s]+)\])?(?: \((\S+) )?", re.MULTILINE)
_VERSION = re.compile(r"^ (?:\*\*\*|   ) (\S+) -?\d+$")


def simulate(context: Context, words: Sequence[str], options: Sequence[str] = ()) -> Ran:
    """Run `apt-get -s install` for words such as `foo=1.0` and `bar-`; held packages and downgrades are let through."""
    allowed = ["--allow-downgrades", "--allow-change-held-packages"]
    argv = ["apt-get", "-s", "-y", "-q", *allowed, *options, "install", "--", *words]
    return context.run(argv, timeout_s=TIMEOUT_S, environment=ENVIRONMENT, limit=16 * 1024 * 1024)


def parse_changes(text: str) -> dict[str, dict[str, Any]]:
    """Return `{"before", "after"}` by name of what a simulation says that it would do."""
    found: dict[str, dict[str, Any]] = {}
    for action, name, before, after in _CHANGE.findall(text):
        old = found.get(name, {}).get("before") or before or None
        # A package that is replaced may be removed first and installed then.
        found[name] = {"before": old, "after": None if action != "Inst" else after or None}
    return found


def problems(ran: Ran) -> list[str]:
    """Return the lines in which apt says why it cannot, most telling first; empty when it can."""
    if ran.exit_code == 0:
        return []
    output = ran.text()
    unmet = [line.strip() for line in _unmet(output)]
    errors = [line[2:].strip() for line in ran.error_text().splitlines() if line.startswith("E:")]
    found = [*unmet, *errors] or [line.strip() for line in ran.error_text().splitlines()[-3:] if line.strip()]
    return found or [f"apt-get -s ended with exit status {ran.exit_code}"]


def _unmet(output: str) -> Iterable[str]:
    """Yield the lines below "The following packages have unmet dependencies:"."""
    inside = False
    for line in output.splitlines():
        if line.startswith("The following packages have unmet dependencies"):
            inside = True
        elif inside and line.startswith(" "):
            yield line
        elif inside:
            return


def policy(context: Context, names: Sequence[str], options: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
    """Return by name `{"candidate", "versions"}`, newest first, as `apt-cache policy` tells them.

    A name that apt has never heard of is left out; one without versions is a virtual package, or only referred to.
    """
    if not names:
        return {}
    ran = context.run(["apt-cache", *options, "policy", "--", *names], timeout_s=TIMEOUT_S)
    # A name that nobody has heard of is taken for a pattern.
    told = parse_policy(ran.text())
    asked = {*names, *(name.partition(":")[0] for name in names)}
    return {name: about for name, about in told.items() if name in asked}


def parse_policy(text: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    current: dict[str, Any] = {"candidate": None, "versions": []}
    for line in text.splitlines():
        if line and not line.startswith(" ") and line.endswith(":"):
            current = found.setdefault(line[:-1], {"candidate": None, "versions": []})
        elif line.startswith("  Candidate: "):
            value = line[len("  Candidate: ") :].strip()
            current["candidate"] = None if value == "(none)" else value
        else:
            match = _VERSION.match(line)
            if match:
                current["versions"].append(match.group(1))
    return found
