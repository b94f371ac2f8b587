"""The faults: each is done to a node or a controller at this moment, and says whether it hit anything."""

import contextlib
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from stackplan.node.boot import BOOT

# A cut that waits for its byte does not wait longer than this: nothing may be under way.
_BYTE_PATIENCE_S = 2.0
# A controller that starts takes so long to connect.
_PROCESS_PATIENCE_S = 10.0
_LONGEST_MOMENT_S = 0.3
_LOOK_S = 0.01
_MOST_BYTES_EXPONENT = 14


@dataclass
class Victim:
    """`wait` lets time pass; it returns at once when the campaign is given up."""

    node: object
    proxy: object
    controller: object
    random: object
    wait: Callable[[float], object]

    @property
    def controlled(self):
        return self.controller.poll() is None


def cut_towards_client(victim):
    return _cut(victim, "client")


def cut_towards_server(victim):
    return _cut(victim, "server")


def _cut(victim, towards):
    """Reset the connection after a random number of bytes that way, few or many; where they do not come, reset it."""
    before = victim.proxy.cuts
    victim.proxy.cut_after(int(2 ** victim.random.uniform(0, _MOST_BYTES_EXPONENT)), towards)
    deadline = time.monotonic() + _BYTE_PATIENCE_S
    while victim.proxy.cuts == before and victim.controlled and time.monotonic() < deadline:
        victim.wait(_LOOK_S)
    if victim.proxy.cuts == before and victim.controlled:
        victim.proxy.cut()
    return victim.proxy.cuts > before


def kill_sshd_child(victim):
    return _kill(victim, lambda: children(victim.node.process.pid))


def kill_node_program(victim):
    """Kill what an sshd child has started: the node program, from the moment that it is one."""

    def programs():
        started = [pid for child in children(victim.node.process.pid) for pid in children(child)]
        return [pid for pid in started if BOOT in command_of(pid)]

    return _kill(victim, programs)


def kill_controller(victim):
    if not victim.controlled:
        return False
    victim.controller.kill()
    return victim.controller.wait() == -signal.SIGKILL


def _kill(victim, find):
    """Kill one of the processes that `find` returns: now, or some moments after there is one."""
    deadline = time.monotonic() + _PROCESS_PATIENCE_S
    while not find() and victim.controlled and time.monotonic() < deadline:
        victim.wait(_LOOK_S)
        if find():
            victim.wait(victim.random.uniform(0.0, _LONGEST_MOMENT_S))
    if not (pids := find()):
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(victim.random.choice(pids), signal.SIGKILL)
        return True
    return False


def children(pid):
    """Return the children of a process, in the order in which they were started; none where it is gone."""
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def command_of(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


FAULTS = {
    "connection cut, to client": (cut_towards_client, 30),
    "connection cut, to node": (cut_towards_server, 25),
    "sshd child killed": (kill_sshd_child, 15),
    "node program killed": (kill_node_program, 18),
    "controller killed": (kill_controller, 12),
}
"""By name: what is done, and how often it is chosen against the others."""
