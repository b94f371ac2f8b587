"""How Slurm sees a node, from `scontrol show node --oneliner`, `squeue` and the job steps that live here.

Of scontrol's line one field holds the state (22.05):

    NodeName=gpu-01 … State=MIXED+DRAIN ThreadsPerCore=1 … Reason=new driver [root@2026-12-02T00:40:08]

Shared by the query and the task.
"""

from __future__ import annotations

import os
import re
from typing import Any

from stackplan.node import drains
from stackplan.node.context import CannotTell, Context, ProbeFailed

TIMEOUT_S = 40.0
"""scontrol asks each controller in turn for MessageTimeout (10 s), so a backup has its chance."""
_ENVIRONMENT = {"SLURM_TIME_FORMAT": "standard"}
_BASES = ("IDLE", "MIXED", "ALLOCATED", "DOWN", "ERROR", "FUTURE", "UNKNOWN")
_WORKING = ("IDLE", "MIXED", "ALLOCATED")
# Slurm before 21.08 hangs a sign on the state where newer ones write a word.
_SIGNS = {
    "*": "NOT_RESPONDING",
    "~": "POWERED_DOWN",
    "#": "POWERING_UP",
    "!": "POWER_DOWN",
    "%": "POWERING_DOWN",
    "$": "MAINTENANCE",
    "@": "REBOOT_REQUESTED",
    "^": "REBOOT_ISSUED",
    "-": "PLANNED",
}
_CLOSED = {
    "DRAIN",
    "FAIL",
    "NOT_RESPONDING",
    "POWER_DOWN",
    "POWERED_DOWN",
    "POWERING_DOWN",
    "REBOOT_REQUESTED",
    "REBOOT_ISSUED",
    "INVALID_REG",
    "BLOCKED",
    "MAINTENANCE",
    "RESERVED",
}
_MARK = re.compile(r"\[stackplan ([0-9a-f]+)\]")
_SET_BY = re.compile(r" \[([^\s\[\]@]+)@([^\s\[\]]+)\]")
_STEP = re.compile(r"slurmstepd: \[([^\]]+)\]")
_JOB_STATES = "running,suspended,completing,configuring,stopped,resizing,signaling,stage_out"


def mark_in(reason: str | None) -> str | None:
    """Return the mark that stackplan leaves in the reason of its drains, or None."""
    found = _MARK.findall(reason or "")
    return found[-1] if found else None


def marked(reason: str, mark: str) -> str:
    return f"{reason} [stackplan {mark}]"


def look(context: Context, name: str | None) -> dict[str, Any]:
    """Return how Slurm sees the node `name`, or the one that this machine is, as the query answers it.

    Raise CannotTell where Slurm's tools are missing or do not tell which node this is, ProbeFailed where no controller
    answers.
    """
    fields = _fields_of(context, name)
    node = fields["NodeName"]
    base, flags = parse_state(fields["State"])
    reason, user, since = parse_reason(fields.get("Reason", ""))
    jobs = _jobs(context, node)
    steps = _steps(context) if _is_here(fields) else []
    try:
        record = drains.recorded(f"slurm-{node}")
    except (OSError, ValueError) as error:
        raise ProbeFailed(f"the record of the drain cannot be read: {error}") from error
    return {
        "node": node,
        "state": "+".join([base, *flags]),
        "base": base,
        "flags": flags,
        "reason": reason,
        "reason_user": user,
        "reason_since": since,
        "partitions": [it for it in fields.get("Partitions", "").split(",") if it],
        "draining": "DRAIN" in flags,
        "available": base in _WORKING and not _CLOSED & set(flags),
        "occupants": _occupants(base, flags, jobs, steps),
        "ours": record,
        "mark": mark_in(reason),
        "user": context.user,
    }


def parse_state(text: str) -> tuple[str, list[str]]:
    """Return the base state and the flags of `IDLE+DRAIN+NOT_RESPONDING`, or of `IDLE*+DRAIN` as older ones write it.

    Raise CannotTell for a base state that Slurm is not known to have: what is not understood is not guessed.
    """
    flags: list[str] = []
    words = []
    for word in text.upper().split("+"):
        bare = word.rstrip("".join(_SIGNS))
        flags.extend(_SIGNS[sign] for sign in word[len(bare) :])
        words.append(bare)
    if words[0] not in _BASES:
        raise CannotTell(f"Slurm names a state that is not known here: {text}")
    return words[0], sorted({*words[1:], *flags} - {""})


def parse_reason(text: str) -> tuple[str | None, str | None, str | None]:
    """Return the text, the user and the time of `new driver [root@2026-12-02T00:40:08]`; Nones for no reason.

    Slurm puts user and time behind the first line of a reason that has several.
    """
    found = _SET_BY.search(text)
    if found is None:
        return text.strip() or None, None, None
    lines = (text[: found.start()], text[found.end() :])
    return "\n".join(line.strip() for line in lines if line.strip()) or None, found[1], found[2]


def parse_line(line: str) -> dict[str, str]:
    """Return those fields of scontrol's line that matter here.

    Values may hold spaces and `=`; all that matters but the reason stands before whatever people have written.
    """
    found = {}
    for key in ("NodeName", "NodeAddr", "NodeHostName", "State", "Partitions"):
        match = re.search(rf"(?:^| ){key}=(\S+)", line)
        if match is not None:
            found[key] = match[1]
    _, _, reason = line.partition(" Reason=")
    found["Reason"] = re.split(r" (?:Comment|Extra|InstanceId)=", reason)[0]
    return found


def _fields_of(context: Context, name: str | None) -> dict[str, str]:
    name = name or context.environment().get("SLURMD_NODENAME")
    if name:
        for fields in _show(context, name):
            if fields["NodeName"] == name:
                return fields
        raise CannotTell(f"Slurm has no node {name}")
    nodes = _show(context, None)
    own = [it for it in nodes if _is_here(it)]
    if len(own) == 1:
        return own[0]
    host = os.uname().nodename
    if own:
        names = ", ".join(it["NodeName"] for it in own[:8])
        raise CannotTell(f"Slurm has several nodes on {host}: {names}; name one by `node`")
    raise CannotTell(f"none of Slurm's {len(nodes)} nodes is on {host}; name it by `node`")


def _is_here(fields: dict[str, str]) -> bool:
    own = os.uname().nodename.lower()
    named = [fields[key].lower() for key in ("NodeHostName", "NodeAddr") if key in fields]
    return any(it == own or (("." in it or "." in own) and _short(it) == _short(own)) for it in named)


def _short(host: str) -> str:
    """Return a host's name without its domain; an address stays what it is."""
    return host if re.fullmatch(r"[\d.]+", host) or ":" in host else host.partition(".")[0]


def _show(context: Context, name: str | None) -> list[dict[str, str]]:
    argv = ["scontrol", "--oneliner", "--all", "show", "node", *([name] if name else [])]
    ran = context.run(argv, timeout_s=TIMEOUT_S, environment=_ENVIRONMENT, limit=64 * 1024 * 1024)
    lines = [line for line in ran.text().splitlines() if line.startswith("NodeName=")]
    if ran.exit_code != 0 or not lines:
        said = f"{ran.error_text()}\n{ran.text()}".strip()
        last = said.splitlines()[-1] if said else f"exit status {ran.exit_code}"
        raise ProbeFailed(f"scontrol does not show {name or 'the nodes'}: {last}", said)
    found = [parse_line(line) for line in lines]
    return [fields for fields in found if "State" in fields]


def _jobs(context: Context, node: str) -> list[dict[str, str]]:
    argv = ["squeue", "--noheader", "--all", f"--nodelist={node}", f"--states={_JOB_STATES}", "--format=%i|%T|%u|%j"]
    ran = context.run(argv, timeout_s=TIMEOUT_S, environment=_ENVIRONMENT)
    if ran.exit_code != 0:
        raise ProbeFailed(f"squeue ended with exit status {ran.exit_code}", ran.error_text())
    rows = [line.split("|", 3) for line in ran.text().splitlines()]
    return [dict(zip(("id", "state", "user", "name"), row)) for row in rows if len(row) == 4]


def _steps(context: Context) -> list[str]:
    """Return the job steps whose slurmstepd lives on this machine: those of a node that lost its controller, too."""
    found = set()
    folder = context.rooted("/proc")
    for entry in filter(str.isdigit, os.listdir(folder)):
        try:
            with open(os.path.join(folder, entry, "cmdline"), "rb") as file:
                words = file.read(4096).replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        match = _STEP.match(words)
        if match is not None:
            found.add(match[1])
    return sorted(found)


def _occupants(base: str, flags: list[str], jobs: list[dict[str, str]], steps: list[str]) -> list[str]:
    """Return what keeps the node from being empty, in words."""
    found = [f"job {it['id']} of {it['user']} ({it['name']}), {it['state'].lower()}" for it in jobs]
    named = {re.split(r"[._+]", it["id"])[0] for it in jobs}
    found += [f"job step {step}, a process on the node" for step in steps if re.split(r"[.+]", step)[0] not in named]
    if not found and base in ("MIXED", "ALLOCATED"):
        found.append("jobs that squeue does not show to this user")
    if not found and "COMPLETING" in flags:
        found.append("a job that is completing")
    return found
