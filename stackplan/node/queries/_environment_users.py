"""Who runs from a Python environment: processes that were started as one of its programs or have its files mapped, and
systemd's units.

The `bin/python` of an environment is a link as a rule: the kernel names the python behind it, and a program that has
loaded nothing compiled from the environment maps none of its files. What it was started as still leads there.
Of processes no numbers are told: names, users and units are the same on nodes that are the same. Processes of others
can be seen by root alone.
"""

from __future__ import annotations

import collections
import os
import re
import shlex
import time
from typing import Any, Iterable, Mapping

from stackplan.node.boot import BOOT
from stackplan.node.context import CannotTell, Context, ProbeFailed
from stackplan.node.processes import of_this_program
from stackplan.node.queries._audited_environment import owner

LOOKING_S = 0.5
SYSTEMD_S = 3.0
MOST_MAPS = 4 * 1024 * 1024
MOST_UNITS = 20
_PROPERTIES = "Id,ActiveState,User,Environment,EnvironmentFiles,ExecStart"
_UNIT = re.compile(r"/([^/\n]+\.service)(?:/|$)", re.MULTILINE)
_PYTHON = re.compile(r"python[\d.]*$")
_OPTIONAL = re.compile(r" \(ignore_errors=\w+\)$")


def processes(venvs: Mapping[str, str], context: Context) -> list[dict[str, Any]]:
    """Return what runs from the environments, given as the playbook writes them and by where they really are.

    What the node program itself has started there does not count: it ends with its question.
    """
    found: dict[int, list[tuple[str, str, str, str]]] = {}
    until = time.monotonic() + LOOKING_S
    proc = context.rooted("/proc")
    ours = of_this_program() if context.root == "/" else set()
    for pid in sorted((int(it) for it in os.listdir(proc) if it.isdigit()), reverse=True):
        if time.monotonic() > until:
            break
        if pid in ours:
            continue
        for venv in _used(f"{proc}/{pid}", venvs):
            unit = _UNIT.search(_read(f"{proc}/{pid}/cgroup").decode("utf-8", "replace"))
            name = _read(f"{proc}/{pid}/comm").decode("utf-8", "replace").strip()
            row = (venv, name, owner(f"{proc}/{pid}") or "", unit.group(1) if unit else "")
            found.setdefault(pid, []).append(row)
    if context.root == "/":
        ours |= of_this_program()
    counted = collections.Counter(row for pid, rows in found.items() if pid not in ours for row in rows)
    return [
        {"venv": venv, "name": name, "user": user, "unit": unit or None, "count": count}
        for (venv, name, user, unit), count in sorted(counted.items())
    ]


def _used(process: str, venvs: Mapping[str, str]) -> list[str]:
    words = _read(f"{process}/cmdline")
    # The kernel's own threads have neither words nor files; a node program, whoever's it is, uses no package.
    if not words or BOOT.encode("ascii") in words:
        return []
    folder = _started_in(process, os.fsdecode(words.split(b"\0", 1)[0]))
    maps = _read(f"{process}/maps")
    return [
        venv for venv, path in venvs.items() if folder == os.path.join(path, "bin") or os.fsencode(f"{path}/") in maps
    ]


def _started_in(process: str, program: str) -> str | None:
    """Return the folder of the program as which a process was started, by where it really is; None where unknown.

    A bare name is looked for as a shell does: in the PATH of the process, and where that tells nothing in the
    environment that VIRTUAL_ENV names. VIRTUAL_ENV alone says nothing: every program of a shell with it has it.
    """
    folder, _, name = program.rpartition("/")
    if program.startswith("/"):
        return os.path.realpath(folder or "/")
    if folder:
        try:
            return os.path.realpath(os.path.join(os.readlink(f"{process}/cwd"), folder))
        except OSError:
            return None
    if not _PYTHON.match(name):
        return None
    variables = dict(it.partition("=")[::2] for it in os.fsdecode(_read(f"{process}/environ")).split("\0"))
    places = [it for it in variables.get("PATH", "").split(":") if it.startswith("/")]
    if variables.get("VIRTUAL_ENV", "").startswith("/"):
        places.append(os.path.join(variables["VIRTUAL_ENV"], "bin"))
    found = next((it for it in places if os.path.lexists(os.path.join(it, name))), None)
    return None if found is None else os.path.realpath(found)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(MOST_MAPS)
    except OSError:
        return b""


def services(places: Iterable[str], running: Iterable[str | None], context: Context) -> list[dict[str, Any]]:
    """Return the units that name one of `places`, or that own one of the `running` processes, with their variables.

    Raise CannotTell where systemd does not run.
    """
    if context.which("systemctl") is None:
        raise CannotTell("there is no systemd on this node")
    ran = context.run(["systemctl", "show", f"--property={_PROPERTIES}", "--", "*.service"], timeout_s=SYSTEMD_S)
    if ran.exit_code != 0:
        raise CannotTell(f"systemctl show ended with exit status {ran.exit_code}")
    marks = [f"{place}/" for place in places]
    owners = {it for it in running if it}
    found = []
    for block in ran.text().split("\n\n"):
        unit = _properties(block)
        started = " ".join([*unit["ExecStart"], *unit["Environment"]])
        name = "".join(unit["Id"][:1])
        if name and (name in owners or any(mark in started for mark in marks)):
            found.append(
                {
                    "unit": name,
                    "active": unit["ActiveState"][:1] == ["active"],
                    "user": "".join(unit["User"][:1]) or "root",
                    "variables": _variables(unit, context),
                }
            )
    return sorted(found, key=lambda it: str(it["unit"]))[:MOST_UNITS]


def _properties(block: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = collections.defaultdict(list)
    for line in block.splitlines():
        name, equals, value = line.partition("=")
        if equals and value:
            found[name].append(value)
    return found


def _variables(unit: dict[str, list[str]], context: Context) -> dict[str, str]:
    """Return the variables of a unit as it gets them: those of its files go before those that it writes itself."""
    found = dict(_assignments(" ".join(unit["Environment"])))
    for file in unit["EnvironmentFiles"]:
        try:
            content = context.read(_OPTIONAL.sub("", file), 256 * 1024).decode("utf-8", "surrogateescape")
        except (FileNotFoundError, ProbeFailed):
            continue
        for line in content.splitlines():
            if not line.lstrip().startswith(("#", ";")):
                found.update(_assignments(line))
    return found


def _assignments(line: str) -> Iterable[tuple[str, str]]:
    try:
        words = shlex.split(line)
    except ValueError:
        words = line.split()
    for word in words:
        name, equals, value = word.partition("=")
        if equals and name.isidentifier():
            yield name, value
