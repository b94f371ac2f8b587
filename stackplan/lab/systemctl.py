"""A stand-in for systemctl on the lab's nodes: the units of one node's folder, and no others. Standard library only.

It keeps each unit in `units/NAME.json` beside the programs of the node and starts what stands in `argv` as a process of
its own, or nothing where there is none (a unit that is active without one); what that writes goes to `units/NAME.log`,
from where the stand-in for journalctl has it. It knows `show`, `start`, `stop`,
`restart`, `enable` and `disable`, in the form in which stackplan asks systemd, and for people `status`, `is-active`,
`is-failed`, `is-enabled` and `list-units`.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

UNITS = Path(__file__).resolve().parents[1] / "units"
_END_WITHIN_S = 10.0
_STATES = {"enable": "enabled", "disable": "disabled"}
_QUESTIONS = {"is-active": "ActiveState", "is-failed": "ActiveState", "is-enabled": "UnitFileState"}
_WANTED = {"is-active": ("active",), "is-failed": ("failed",), "is-enabled": ("enabled",)}
_NOT_SO = {"is-active": 3, "is-failed": 1, "is-enabled": 1}
_STATUS_OF = {"active": 0, "failed": 3, "inactive": 3}
_NO_SUCH_UNIT = 4
_LINES = 10


def main(words: list[str]) -> int:
    """Do what a command line says and return its exit status."""
    words = [word for word in words if word not in ("--no-ask-password", "--no-pager", "--")]
    verb, names = words[0] if words else "", [word for word in words[1:] if not word.startswith("-")]
    properties = next((word.partition("=")[2].split(",") for word in words if word.startswith("--property=")), [])
    if verb == "list-units" and not names:
        sys.stdout.write("".join(f"{line}\n" for line in listed()))
        return 0
    verbs = ("show", "status", *_QUESTIONS, "start", "stop", "restart", *_STATES)
    if verb not in verbs or len(names) != 1:
        sys.stderr.write(f"this stand-in for systemctl does not know: {' '.join(words)}\n")
        sys.stderr.write(f"it knows `list-units`, and with one unit: {', '.join(verbs)}\n")
        return 1
    name = names[0].removesuffix(".service")
    path = UNITS / f"{name}.json"
    if verb == "show":
        told = shown(name, kept(name))
        sys.stdout.write("".join(f"{it}={told[it]}\n" for it in properties if it in told))
        return 0
    if verb == "status" or verb in _QUESTIONS:
        return status(name) if verb == "status" else answered(verb, name, "--quiet" in words or "-q" in words)
    if not path.exists():
        sys.stderr.write(f"Failed to {verb} {name}.service: Unit {name}.service not found.\n")
        return 5
    sys.stdout.write(f"stand-in: systemctl {verb} {name}\n")
    change(path, verb)
    return 0


def shown(name: str, unit: dict[str, Any] | None) -> dict[str, str]:
    """Return the properties of a unit as systemd names them; None is a unit that does not exist."""
    told = {"Id": f"{name}.service", "LoadState": "not-found", "ActiveState": "inactive", "SubState": "dead"}
    if unit is None:
        return told
    told.update(LoadState="loaded", FragmentPath=str(UNITS / f"{name}.json"), UnitFileState=unit["file_state"])
    told.update(Type="simple", CanStart="yes", CanReload="no", NeedDaemonReload="no", NRestarts="0", Result="success")
    told.update(InvocationID=unit["invocation"], StateChangeTimestampMonotonic=str(unit["changed"]))
    if unit["started"] and (not unit["argv"] or lives(unit)):
        told.update(ActiveState="active", SubState="running" if unit["argv"] else "exited")
    elif unit["started"]:
        told.update(ActiveState="failed", SubState="failed", Result="exit-code", ExecMainCode="1", ExecMainStatus="1")
    return told


def kept(name: str) -> dict[str, Any] | None:
    """Return what is kept of a unit, None where there is no such unit."""
    path = UNITS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def answered(verb: str, name: str, quiet: bool) -> int:
    """Say how a unit stands, in the word and with the exit status of systemd."""
    told = shown(name, kept(name))
    word = told.get(_QUESTIONS[verb], "not-found")
    if not quiet:
        sys.stdout.write(f"{word}\n")
    if word in _WANTED[verb]:
        return 0
    missing = told["LoadState"] == "not-found" and verb != "is-failed"
    return _NO_SUCH_UNIT if missing else _NOT_SO[verb]


def status(name: str) -> int:
    """Tell people of a unit what systemd tells first, and the last lines that it wrote."""
    unit = kept(name)
    told = shown(name, unit)
    if unit is None:
        sys.stderr.write(f"Unit {name}.service could not be found.\n")
        return _NO_SUCH_UNIT
    lines = [
        f"{name}.service",
        f"     Loaded: loaded ({told['FragmentPath']}; {told['UnitFileState']})",
        f"     Active: {told['ActiveState']} ({told['SubState']})",
    ]
    if told["SubState"] == "running":
        lines.append(f"   Main PID: {unit['pid']} ({' '.join(unit['argv'])})")
    log = UNITS / f"{name}.log"
    if log.exists():
        lines += ["", *log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LINES:]]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return _STATUS_OF[told["ActiveState"]]


def listed() -> list[str]:
    """Return a line for each unit of the node, with how it stands."""
    units = (shown(path.stem, kept(path.stem)) for path in sorted(UNITS.glob("*.json")))
    return [f"{it['Id']:<24} {it['LoadState']:<9} {it['ActiveState']:<8} {it['SubState']}" for it in units]


def change(path: Path, verb: str) -> None:
    """Start, stop, enable or disable the unit that stands in a file."""
    unit = json.loads(path.read_text())
    if verb in _STATES:
        unit["file_state"] = _STATES[verb]
    if verb in ("stop", "restart") or (verb == "start" and not (unit["started"] and (not unit["argv"] or lives(unit)))):
        end(unit)
        unit.update(started=verb != "stop", changed=time.monotonic_ns() // 1000)
        if unit["started"]:
            unit["invocation"] = uuid.uuid4().hex
            unit.update(begin(unit["argv"], path.with_suffix(".log")))
    # Renamed into place: whoever asks meanwhile reads a whole file.
    part = path.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps(unit))
    part.replace(path)


def begin(argv: list[str], log: Path) -> dict[str, Any]:
    """Start the unit's process, if it has one, with nothing of whoever asked for it; return what tells it again."""
    if not argv:
        return {}
    with log.open("ab") as output:
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd="/",
                env={"PATH": os.environ.get("PATH", os.defpath), "HOME": str(UNITS.parent / "home")},
                start_new_session=True,
            )
        except OSError as error:
            output.write(f"{log.stem}.service: Unable to locate executable '{argv[0]}': {error.strerror}\n".encode())
            return {"pid": None, "since": None}
    return {"pid": process.pid, "since": _since(process.pid)}


def end(unit: dict[str, Any]) -> None:
    """End the unit's process and wait until it is gone."""
    deadline = time.monotonic() + _END_WITHIN_S
    while lives(unit):
        with contextlib.suppress(ProcessLookupError):
            os.kill(unit["pid"], signal.SIGTERM if time.monotonic() < deadline else signal.SIGKILL)
        time.sleep(0.02)


def lives(unit: dict[str, Any]) -> bool:
    """Return whether the unit's process runs: the same one, not another with its number, nor one that has ended."""
    return unit.get("pid") is not None and unit["since"] is not None and _since(unit["pid"]) == unit["since"]


def _since(pid: int) -> str | None:
    """Return when a process started, in the kernel's ticks; None where it runs no longer."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
