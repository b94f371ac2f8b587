"""Whether dpkg has a package installed, in which version, and whether it is on hold.

Asked with `{"name": "libnccl2"}`, or `libc6:i386` for another architecture. `status` is dpkg's own word: installed,
half-configured, unpacked and so on; null when it is not there (leftover configuration does not count). `broken`: it is
neither installed nor gone.
"""

from __future__ import annotations

from typing import Any

from stackplan.node.context import Context
from stackplan.node.queries._dpkg import packages


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    found = packages(context)
    name = str(arguments["name"])
    base, _, architecture = name.partition(":")
    row = found["packages"].get(base if architecture in (found["architecture"], "all") else name)
    absent = {"version": None, "status": None, "held": False, "broken": False}
    return {"name": name, **(row or absent)}
