"""Which operating system runs: /etc/os-release, the kernel, the memory, and whether a restart is pending.

Asked without arguments. What a node does not state is null. `reboot_required` is read from the file that Debian and
Ubuntu leave in /run; other distributions leave none, so that its absence there says nothing (null).
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from typing import Any

from stackplan.node.context import Context

_RELEASE_FILES = ("/etc/os-release", "/usr/lib/os-release")
_REBOOT_FILES = ("/run/reboot-required", "/var/run/reboot-required")


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:  # noqa: ARG001 - every query has this form
    release = parse_release(_text(_RELEASE_FILES, context) or "")
    kernel = os.uname()
    return {
        "id": release.get("ID"),
        "version": release.get("VERSION_ID"),
        "name": release.get("PRETTY_NAME"),
        "kernel": kernel.release,
        "arch": kernel.machine,
        "memory_bytes": total_memory(_text(("/proc/meminfo",), context) or ""),
        "reboot_required": _reboot_required(release, context),
        "reboot_packages": (_text(tuple(name + ".pkgs" for name in _REBOOT_FILES), context) or "").split(),
    }


def parse_release(text: str) -> dict[str, str]:
    """Return the assignments of an os-release file, quotes taken off; lines that are none are passed over."""
    found = {}
    for line in text.splitlines():
        name, equals, value = line.strip().partition("=")
        if not equals or name.startswith("#"):
            continue
        try:
            found[name] = "".join(shlex.split(value))
        except ValueError:
            continue
    return found


def total_memory(text: str) -> int | None:
    """Return the bytes that `MemTotal:       65842032 kB` names, or None."""
    match = re.search(r"^MemTotal:\s+(\d+) kB$", text, re.MULTILINE)
    return int(match.group(1)) * 1024 if match else None


def _reboot_required(release: dict[str, str], context: Context) -> bool | None:
    if any(os.path.exists(context.rooted(path)) for path in _REBOOT_FILES):
        return True
    family = {release.get("ID", ""), *release.get("ID_LIKE", "").split()}
    return False if family & {"debian", "ubuntu"} else None


def _text(paths: tuple[str, ...], context: Context) -> str | None:
    """Return the content of the first of the files that exists."""
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            return context.read(path).decode("utf-8", "replace")
    return None
