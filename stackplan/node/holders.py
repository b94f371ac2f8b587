"""Who holds the node and what lives there of runs: for a controller that comes back, and for whoever breaks a lock.

What is alive is told by flocks and by /proc, never by what a file says of it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import Any, Iterable

from stackplan.node import lock
from stackplan.node.processes import descendants, living_members, name_of, send
from stackplan.node.spool import Spool, state_folder
from stackplan.node.supervisor import TERMINATE, terminate
from stackplan.node.supervisors import living_supervisors

MOST_NAMES = 50


def whereabouts(job: str) -> dict[str, Any]:
    """Return what became of a job: `absent` (it never started), `running`, `ended`, or `vanished`.

    Vanished: it has neither an ending nor a supervisor. `processes` are what lives of it all the same.
    """
    spool = Spool(job)
    # Alive first: between the two looks it may write its ending and go, but never come to life.
    supervised = spool.supervised()
    record = spool.ending()
    if record is not None:
        return {"ended": spool.word_on(record.get("ending"))}
    if supervised:
        return {"running": {"age_s": _age_s(spool)}}
    if (pid := living_supervisors().get(job)) is not None:
        why = f"its folder {spool.path} was deleted while it ran; its supervisor (process {pid}) lives"
        return {"vanished": {"why": why, "rebooted": None, "processes": _few(_with_supervisor(pid))}}
    if spool.pid() is None:
        return {"absent": True}
    rebooted = spool.rebooted()
    processes = {} if rebooted else living_members(spool.sessions())
    return {"vanished": {"why": spool.why_lost(), "rebooted": rebooted, "processes": _few(processes)}}


def jobs(run: str | None = None) -> list[dict[str, Any]]:
    """Return the jobs, of one run or of all, of which anything lives."""
    found = []
    # Of those whose folders were deleted, and of them alone, nothing else than their processes tells.
    homeless = living_supervisors()
    for spool in _open_spools():
        if run is not None and not spool.job.startswith(f"{run}."):
            continue
        supervised = spool.supervised()
        processes = _processes(spool, supervised=supervised)
        if supervised:
            homeless.pop(spool.job, None)
        if supervised or processes:
            found.append(
                {
                    "job": spool.job,
                    "age_s": _age_s(spool),
                    "timeout_s": spool.record().get("timeout_s"),
                    "supervised": supervised,
                    "processes": _few(processes),
                }
            )
    for job, pid in sorted(homeless.items()):
        if run is None or job.startswith(f"{run}."):
            alone = {"job": job, "age_s": None, "timeout_s": None, "supervised": True}
            found.append({**alone, "processes": _few(_with_supervisor(pid))})
    return found


def holders() -> dict[str, Any]:
    """Return who holds the lock (None: nobody), for how long, and all that lives of runs; nothing is changed.

    `programs` are those that are connected to a controller, this one apart.
    """
    owner, age_s = lock.holder()
    return {"owner": owner, "age_s": age_s, "programs": _few(_programs()), "jobs": jobs()}


def end_holders(by: dict[str, Any], grace_s: float | None) -> None:
    """Ask everything that holds the node to end: TERM, and what ignores it KILL after `grace_s`. None: KILL, now.

    The run is marked first, so that its controller does not come back to what is being ended.
    """
    owner, _ = lock.holder()
    if owner and owner.get("run"):
        with contextlib.suppress(OSError):
            lock.mark_broken(str(owner["run"]), by)
    number = signal.SIGTERM if grace_s is not None else signal.SIGKILL
    send(_programs(), number)
    homeless = living_supervisors()
    for spool in _open_spools():
        supervised = spool.supervised()
        if supervised:
            homeless.pop(spool.job, None)
        user = spool.record().get("user")
        if supervised and grace_s is not None:
            terminate(spool.job, grace_s)
            continue
        send(_processes(spool, supervised=supervised), number, user)
        if supervised:
            send([spool.pid() or 0], number)
    for pid in homeless.values():
        # Asked to end what it runs, a supervisor takes its own grace; its folder cannot tell it another.
        send([pid] if grace_s is not None else _with_supervisor(pid), TERMINATE if grace_s is not None else number)


def _with_supervisor(pid: int) -> dict[int, str]:
    """Return what lives of a job whose folder is gone, its supervisor last: it ends when the others have."""
    return {**descendants(pid), pid: name_of(pid) or "gone"}


def _programs() -> dict[int, str]:
    return {pid: name_of(pid) or "gone" for pid in lock.attending()}


def _open_spools() -> Iterable[Spool]:
    """Yield the jobs of which no ending is written."""
    folder = os.path.join(state_folder(), "spool")
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        if not os.path.exists(os.path.join(folder, name, "ending.json")):
            with contextlib.suppress(ValueError):
                yield Spool(name)


def _processes(spool: Spool, *, supervised: bool) -> dict[int, str]:
    """Return what lives of a job, its supervisor apart."""
    pid = spool.pid()
    if supervised and pid:
        return descendants(pid, spool.sessions())
    return living_members(spool.sessions()) if spool.rebooted() is None else {}


def _age_s(spool: Spool) -> float | None:
    started = spool.record().get("started")
    return max(0.0, time.time() - started) if isinstance(started, (int, float)) else None


def _few(processes: dict[int, str]) -> dict[int, str]:
    return dict(sorted(processes.items())[:MOST_NAMES])
