"""Restart the node: ask for it, and wait for the end."""

from __future__ import annotations

import subprocess
import syslog
import time
from typing import Any

from stackplan.node.spool import boot_id

LOOK_EVERY_S = 0.5
_ARGV = {
    "systemctl": ["systemctl", "--no-ask-password", "reboot"],
    "shutdown": ["shutdown", "-r", "now"],
    "reboot": ["reboot"],
}


def perform(arguments: dict[str, Any]) -> int:
    """Have the node restarted by the program `how`; never return where that comes about.

    Return another status than 0 when the program refuses, or when the node is still up after `timeout_s`. What the
    program says is passed on. `boot` is the boot that is to end: in another one nothing is done.
    """
    if boot_id() != arguments["boot"]:
        print(f"stackplan: boot {arguments['boot']} is over already; nothing was done", flush=True)
        return 1
    reason, argv = arguments.get("reason"), _ARGV[arguments["how"]]
    syslog.syslog(syslog.LOG_NOTICE, f"stackplan restarts this node: {reason or 'no reason given'}")
    print("$ " + " ".join(argv), flush=True)
    deadline = time.monotonic() + float(arguments["timeout_s"])
    code = subprocess.run(argv, stdin=subprocess.DEVNULL, check=False).returncode
    # A signal may well be that of the shutdown itself.
    if code > 0:
        print(f"stackplan: {argv[0]} ended with exit status {code}; the node was not restarted", flush=True)
        return 1
    while time.monotonic() < deadline:
        time.sleep(LOOK_EVERY_S)
    print(f"stackplan: the node is still up {float(arguments['timeout_s']):g} s after `{' '.join(argv)}`", flush=True)
    return 1
