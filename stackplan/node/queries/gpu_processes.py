"""Who uses the GPUs: the compute processes that nvidia-smi lists, and whoever holds /dev/nvidia* open.

What the node program has started itself (a kernel of `kernel_launch`, an import of torch) is left out: it may run while
this is asked, and ends with its question.

Asked without arguments. `listed` from nvidia-smi, `holders` from /proc/*/fd; `hidden` counts the processes whose
files may not be looked at. `sees_node` false: this is a container that sees neither kind of the node's processes.
"""

from __future__ import annotations

import os
import re
from typing import Any

from stackplan.node.context import Context, ProbeFailed
from stackplan.node.processes import of_this_program
from stackplan.node.queries import _smi


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:  # noqa: ARG001 - every query has this form
    ours = _ours(context)
    listed = [_process(row) for row in _smi.rows("compute-apps", ["pid", "gpu_uuid", "process_name"], context)]
    holders, hidden = _holders(context)
    ours |= _ours(context)
    return {
        "listed": [it for it in listed if it["pid"] not in ours],
        "holders": [it for it in holders if it["pid"] not in ours],
        "hidden": hidden,
        "sees_node": _sees_node(context),
    }


def _ours(context: Context) -> set[int]:
    return of_this_program() if context.root == "/" else set()


def _process(row: dict[str, str | None]) -> dict[str, Any]:
    pid = row.get("pid")
    if pid is None or not pid.isdigit():
        raise ProbeFailed(f"nvidia-smi answered {pid!r} for the field pid")
    return {"pid": int(pid), "name": row.get("process_name"), "gpu": row.get("gpu_uuid")}


def _holders(context: Context) -> tuple[list[dict[str, Any]], int]:
    proc = context.rooted("/proc")
    holders, hidden = [], 0
    try:
        pids = sorted(int(name) for name in os.listdir(proc) if name.isdigit())
    except OSError:
        return [], 1
    for pid in pids:
        try:
            devices = _devices(os.path.join(proc, str(pid), "fd"))
        except PermissionError:
            hidden += 1
            continue
        except OSError:
            continue
        if devices:
            holders.append({"pid": pid, "name": _name(os.path.join(proc, str(pid))), "devices": devices})
    return holders, hidden


def _devices(folder: str) -> list[str]:
    found = set()
    for name in os.listdir(folder):
        try:
            target = os.readlink(os.path.join(folder, name))
        except FileNotFoundError:
            continue
        match = re.search(r"/dev/(nvidia(?:\d+|-uvm|-uvm-tools|ctl|-caps/.*)?)$", target)
        if match:
            found.add(match.group(1))
    return sorted(found)


def _name(folder: str) -> str:
    try:
        with open(os.path.join(folder, "comm"), "rb") as stream:
            return stream.read(64).decode("utf-8", "replace").strip()
    except OSError:
        return "?"


def _sees_node(context: Context) -> bool:
    """Return whether the node's own processes are in sight, those of its kernel among them.

    Where the kernel has loaded no NVIDIA driver there is nothing that a process out of sight could hold.
    """
    return _name(context.rooted("/proc/2")) == "kthreadd" or not os.path.exists(context.rooted("/proc/driver/nvidia"))
