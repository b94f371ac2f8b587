"""Which NVIDIA driver the kernel has loaded: /sys/module/nvidia/version, which holds the number and nothing else.

Asked without arguments. Where the kernel does not say it, nvidia-smi is asked; its header is never read.
"""

from __future__ import annotations

import re
from typing import Any

from stackplan.node.context import CannotTell, Context
from stackplan.node.queries import _smi

_FILE = "/sys/module/nvidia/version"


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:  # noqa: ARG001 - every query has this form
    try:
        text = context.read(_FILE).decode("ascii", "replace").strip()
    except FileNotFoundError:
        return _asked(context)
    if re.fullmatch(r"\d+(\.\d+)+", text) is None:
        raise CannotTell(f"{_FILE} holds no version: {text!r}")
    return {"version": text, "source": _FILE}


def _asked(context: Context) -> dict[str, Any]:
    versions = {row.get("driver_version") for row in _smi.rows("gpu", ["driver_version"], context)}
    if len(versions) != 1 or None in versions:
        raise CannotTell(f"neither {_FILE} nor nvidia-smi names a driver's version")
    return {"version": versions.pop(), "source": "nvidia-smi"}
