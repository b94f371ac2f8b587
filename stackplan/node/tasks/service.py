"""Start, stop, restart, reload, enable or disable a systemd unit, and see what became of it."""

from __future__ import annotations

import subprocess
import time
from typing import Any, Callable

from stackplan.node.context import CannotTell, Context, ProbeFailed
from stackplan.node.queries import _systemd
from stackplan.node.tasks import _journal

LOOK_EVERY_S = 0.1
_VERBS = {"started": "start", "stopped": "stop", "restarted": "restart", "reloaded": "reload"}


class NotSo(Exception):
    """The unit is not in the state that was asked for; worded for people."""


def perform(arguments: dict[str, Any]) -> int:
    """Bring the unit `name` into `state` (started, stopped, restarted, reloaded) and make it `enabled` or not.

    What systemctl says and how it ends is passed on and decides nothing: the unit's own state does, once its job has
    ended. A unit that was started has to stay up for `settle_s`; one that does not is told with the last lines of its
    journal, and the one that holds the reason.
    """
    name, enabled, state = str(arguments["name"]), arguments.get("enabled"), arguments.get("state")
    context = Context()
    try:
        if enabled is not None:
            _enable(name, context, enabled=bool(enabled))
        if state is not None:
            before, since_s = _start_of(_systemd.show(context, name)), int(time.time())
            _systemctl(_VERBS[state], name)
            _settle(name, state, context, before=before, since_s=since_s, settle_s=float(arguments["settle_s"]))
    except NotSo as error:
        print(f"stackplan: {error}", flush=True)
        return 1
    except (CannotTell, ProbeFailed) as error:
        print(f"stackplan: the state of {name} is not known: {error}", flush=True)
        return 1
    return 0


def _systemctl(verb: str, name: str) -> None:
    argv = ["systemctl", "--no-ask-password", verb, "--", name]
    print("$ " + " ".join(argv), flush=True)
    code = subprocess.run(argv, stdin=subprocess.DEVNULL, check=False).returncode
    if code:
        print(f"systemctl ended with exit status {code}", flush=True)


def _enable(name: str, context: Context, *, enabled: bool) -> None:
    _systemctl("enable" if enabled else "disable", name)
    state = _systemd.show(context, name).get("UnitFileState")
    if (state in ("enabled", "alias")) is not enabled:
        raise NotSo(f"{name} is {state or 'without a unit file'} afterwards")


def _start_of(properties: dict[str, str]) -> tuple[str | None, str | None]:
    return properties.get("InvocationID"), properties.get("NRestarts")


def _settle(  # noqa: PLR0913 - what was before, and how long to look
    name: str,
    state: str,
    context: Context,
    *,
    before: tuple[str | None, str | None],
    since_s: int,
    settle_s: float,
) -> None:
    """Wait until the unit's job has ended and, unless it was to stop, until it has stayed up. Raise NotSo."""
    properties = _until(name, context, lambda it: not _is_moving(it))
    if state == "stopped":
        if properties["ActiveState"] not in ("inactive", "failed"):
            raise NotSo(f"{name} was to stop and {_words(properties)}")
        return
    if state == "restarted" and properties["ActiveState"] == "active" and _start_of(properties) == before:
        raise NotSo(f"{name} was not restarted: it is the same start as before")
    started = _start_of(properties)
    up_until = time.monotonic() + (settle_s if properties.get("SubState") == "running" else 0.0)
    last = _until(name, context, lambda it: not _is_up(it, started) or time.monotonic() >= up_until)
    if not _is_up(last, started):
        if (journal := _journal.report(name, since_s)) is not None:
            print(journal, flush=True)
        raise NotSo(f"{name} did not stay up: it {_words(last)}")
    print(f"{name} {_words(last)}", flush=True)


def _until(name: str, context: Context, holds: Callable[[dict[str, str]], bool]) -> dict[str, str]:
    """Return the unit's properties once they are so; the job's time limit is what bounds it."""
    while True:
        properties = _systemd.show(context, name)
        if holds(properties):
            return properties
        time.sleep(LOOK_EVERY_S)


def _is_moving(properties: dict[str, str]) -> bool:
    """Tell whether a job is under way; waiting for the next attempt after a crash is no job but a failure."""
    if properties.get("SubState") == "auto-restart":
        return False
    return bool(properties.get("Job")) or properties["ActiveState"] in ("activating", "deactivating", "reloading")


def _is_up(properties: dict[str, str], started: tuple[str | None, str | None]) -> bool:
    return properties["ActiveState"] == "active" and _start_of(properties) == started


def _words(properties: dict[str, str]) -> str:
    about = _systemd.told(properties)
    text = f"is {about['active']} ({about['sub']})"
    result = about["result"]
    parts = [
        f"result {result}" if result not in (None, "success") else None,
        about["exit"] if about["active"] != "active" else None,
        f"restarts by systemd: {about['restarts']}" if about["restarts"] else None,
    ]
    return ", ".join([text, *(part for part in parts if part)])
