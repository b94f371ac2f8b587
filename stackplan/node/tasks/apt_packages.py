"""Install, remove and hold packages by apt-get, which may do what was asked of it and nothing else."""

from __future__ import annotations

import os
import subprocess
import time
from typing import Any, Mapping

from stackplan.node.context import CannotTell, Context, ProbeFailed
from stackplan.node.queries import _apt, _dpkg
from stackplan.node.queries.apt_simulation import answer as simulation
from stackplan.node.queries.apt_simulation import fetch_problems

LOOK_EVERY_S = 0.25
# Configuration files that somebody edited stay; no progress bar in what is kept of the output.
SETTINGS = ("Dpkg::Options::=--force-confdef", "Dpkg::Options::=--force-confold", "Dpkg::Use-Pty=0")


class Refused(Exception):
    """Why nothing was done, or not all of it, worded for people."""


def perform(arguments: dict[str, Any]) -> int:
    """Make what `install` (`name` or `name=version`) and `remove` name so, then put what `hold` names on hold.

    `update` fetches the package lists first. Another program's lock is waited for as long as `lock_timeout_s`, and
    never taken away. Before anything is changed apt says what it would do: what is removed, downgraded, or changed
    although it is on hold has to be named by `remove`, `downgrade` and `hold`.
    """
    try:
        _perform(arguments)
    except (Refused, CannotTell, ProbeFailed) as error:
        print(f"stackplan: {error}", flush=True)
        if isinstance(error, ProbeFailed) and error.stderr.strip():
            print(error.stderr.strip(), flush=True)
        return 1
    return 0


def _perform(arguments: Mapping[str, Any]) -> None:
    limit_s = float(arguments["lock_timeout_s"])
    if arguments.get("update"):
        _update(limit_s)
    _wait_for_locks(_dpkg.LOCKS, limit_s)
    context = Context()
    _refuse_half_done(context)
    told = simulation({**arguments, "update": False}, context)
    if told["problems"]:
        raise Refused("apt cannot do it:\n  " + "\n  ".join(told["problems"]))
    downgraded, held = _check(told["changes"], arguments, _dpkg.packages(context)["packages"])
    if told["changes"] or arguments["install"]:
        _install(arguments, context, downgraded=downgraded, held=held)
    _hold(arguments.get("hold") or [])


def _update(limit_s: float) -> None:
    # apt-get does not wait for the lock of the package lists by itself.
    while True:
        _wait_for_locks((_dpkg.LISTS_LOCK,), limit_s)
        code, output = _run(["apt-get", "-q", "-o", "APT::Update::Error-Mode=any", "update"])
        if not (code and "Could not get lock" in output and _dpkg.lock_holder(_dpkg.LISTS_LOCK)):
            break
    found = fetch_problems(code, output)
    if found:
        raise Refused("the package lists could not be fetched:\n  " + "\n  ".join(found))


def _wait_for_locks(paths: tuple[str, ...], limit_s: float) -> None:
    """Wait until nobody holds one of the locks; print whom it waits for. Raise Refused when that takes too long."""
    deadline, shown = time.monotonic() + limit_s, None
    while True:
        holders = [_dpkg.lock_holder(path) for path in paths]
        holder = next((it for it in holders if it is not None), None)
        if holder is None:
            return
        text = f"apt's lock {holder['path']} is held by {_dpkg.holder_text(holder)}"
        if time.monotonic() >= deadline:
            raise Refused(f"{text} for longer than {limit_s:g} s; it was not taken away")
        if text != shown:
            print(f"{text}; waiting for it", flush=True)
            shown = text
        time.sleep(LOOK_EVERY_S)


def _refuse_half_done(context: Context) -> None:
    rows = _dpkg.packages(context)["packages"]
    broken = sorted(f"{name} is {row['status']}" for name, row in rows.items() if row["broken"])
    journal = _dpkg.journal_entries(context)
    if broken or journal:
        what = ", ".join(broken) or f"unfinished changes in {_dpkg.JOURNAL}: {journal}"
        raise Refused(f"dpkg was interrupted: {what}. Run `dpkg --configure -a` on the node")


def _check(
    changes: Mapping[str, Any], arguments: Mapping[str, Any], rows: Mapping[str, Any]
) -> tuple[list[str], list[str]]:
    """Return what will be downgraded and what will change although it is on hold. Raise Refused for what was not asked.

    A downgrade is asked for by a version, a change of what is on hold by putting it on hold.
    """
    removed = _unasked((name for name, it in changes.items() if it["after"] is None), arguments["remove"])
    if removed:
        raise Refused(f"apt would also remove {', '.join(removed)}, which `remove` does not name")
    pinned = [word.partition("=")[0] for word in arguments["install"] if "=" in word]
    downgraded = [name for name, it in changes.items() if it["before"] and it["after"] and _lower(it)]
    unasked = _unasked(downgraded, pinned)
    if unasked:
        raise Refused(f"apt would downgrade {', '.join(unasked)}, for which `install` names no version")
    held = [name for name in changes if rows.get(name, {}).get("held")]
    unasked = _unasked(held, [*arguments["hold"], *arguments["remove"]])
    if unasked:
        raise Refused(f"apt would change {', '.join(unasked)}, which is on hold on the node and not named by `hold`")
    return downgraded, held


def _unasked(names: Any, asked: list[str]) -> list[str]:
    return sorted(name for name in names if name not in asked and name.partition(":")[0] not in asked)


def _lower(change: Mapping[str, Any]) -> bool:
    ran = Context().run(["dpkg", "--compare-versions", change["after"], "lt", change["before"]])
    return ran.exit_code == 0


def _install(arguments: Mapping[str, Any], context: Context, *, downgraded: list[str], held: list[str]) -> None:
    rows = _dpkg.packages(context)["packages"]
    # Somebody may take the lock in just this moment; 0 would not wait at all.
    settings = (*SETTINGS, f"DPkg::Lock::Timeout={max(1, int(float(arguments['lock_timeout_s'])))}")
    flags = ["-y", "-q", *(part for setting in settings for part in ("-o", setting))]
    flags += ["--allow-downgrades"] if downgraded else []
    flags += ["--allow-change-held-packages"] if held else []
    words = [*arguments["install"], *(f"{name}-" for name in arguments["remove"] if name in rows)]
    flags += [] if any(word.endswith("-") for word in words) else ["--no-remove"]
    code, _ = _run(["apt-get", *flags, "install", "--", *words])
    if code:
        raise Refused(f"apt-get ended with exit status {code}")


def _hold(names: list[str]) -> None:
    if names:
        code, _ = _run(["apt-mark", "hold", *names])
        if code:
            raise Refused(f"apt-mark hold ended with exit status {code}")


def _run(argv: list[str]) -> tuple[int, str]:
    """Run a program, passing on what it prints as it prints it; return its exit status and its output."""
    environment = {**os.environ, **_apt.ENVIRONMENT}
    print("$ " + " ".join(argv), flush=True)
    said = []
    with subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            text = line.decode("utf-8", "replace")
            print(text, end="", flush=True)
            said.append(text)
    return process.returncode, "".join(said)
