"""`stackplan lab start`, `status` and `stop`: a lab in a process of its own, known by its files in the state folder.

The process that serves a lab holds a lock on `lab.lock` for as long as it lives, so that a killed one is told from a
living one without trusting a process id; `lab.json` is written under that lock and says what the lab is.
"""

import contextlib
import fcntl
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from stackplan.engine.state_folder import private_folder, state_folder
from stackplan.lab.failure import LabFailed
from stackplan.model.count import counted
from stackplan.model.frozen import dataclass

MOST_NODES = 500
# A node takes a fifth of a second on an idle machine; what is left over is for a busy one.
_READY_WITHIN_S = 60.0
_READY_WITHIN_S_PER_NODE = 2.0
_STOP_WITHIN_S = 60.0


@dataclass(frozen=True, slots=True)
class LabState:
    """A lab that runs. `inventory` is what `-i` takes; `started` is seconds since the epoch, for display only."""

    pid: int
    started: float
    inventory: str
    index_url: str
    nodes: tuple[str, ...]
    family: str = "blackwell"


def default_folder() -> Path:
    """Return where the lab of this user keeps its files: `lab` in the state folder."""
    return state_folder(os.environ) / "lab"


def status(folder: Path | None = None) -> LabState | None:
    """Return the lab that runs, or None; what a killed one left behind is removed."""
    folder = folder or default_folder()
    if not folder.is_dir():
        return None
    with _lock(folder) as free:
        if free:
            _remove_remains(folder)
            return None
        return _read_state(folder)


def start(nodes: int = 1, folder: Path | None = None, family: str = "blackwell") -> LabState:
    """Start a lab in the background and return it when all its nodes answer. Raise LabFailed where one runs already."""
    folder = private_folder(folder or default_folder())
    _refuse_a_second(status(folder))
    with (folder / "lab.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "stackplan.lab.lifecycle", str(folder), str(checked_count(nodes)), family],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    answer = _answer_of(process, within_s=_READY_WITHIN_S + nodes * _READY_WITHIN_S_PER_NODE)
    if "ready" in answer:
        # The lab outlives this process on purpose: nobody is going to wait for it here.
        process.returncode = 0
        return _state(answer["ready"])
    process.wait()
    raise LabFailed(
        str(answer.get("failed", f"the lab ended before it was ready (exit status {process.returncode})")),
        observed=answer.get("observed") or _tail(folder / "lab.log"),
        remedy=answer.get("remedy"),
    )


def _answer_of(process: subprocess.Popen[bytes], within_s: float) -> dict[str, Any]:
    """Return the one line that a starting lab writes, empty when it ends without; who is interrupted leaves no lab."""
    assert process.stdout
    timer = threading.Timer(within_s, process.kill)
    timer.start()
    try:
        with process.stdout as answers:
            line = answers.readline()
    except BaseException:
        process.terminate()
        process.wait()
        raise
    finally:
        timer.cancel()
    return json.loads(line) if line else {}


def stop(folder: Path | None = None) -> LabState | None:
    """End the lab, remove its files and return what it was; None when none ran."""
    folder = folder or default_folder()
    state = status(folder)
    if state is None:
        return None
    with contextlib.suppress(ProcessLookupError):
        os.kill(state.pid, signal.SIGTERM)
    if not _released(folder, _STOP_WITHIN_S):
        with contextlib.suppress(ProcessLookupError):
            os.kill(state.pid, signal.SIGKILL)
        if not _released(folder, _STOP_WITHIN_S):
            raise LabFailed(f"the lab (process {state.pid}) does not end", remedy=f"end it with `kill -9 {state.pid}`")
    status(folder)
    return state


def serve(
    nodes: int,
    folder: Path | None = None,
    announce: Callable[[LabState], None] = lambda _: None,
    family: str = "blackwell",
) -> None:
    """Run a lab in this process until SIGTERM or SIGINT; `announce` is called when all its nodes answer."""
    from stackplan.lab.laboratory import running_lab  # noqa: PLC0415 - paramiko's import is spared by stop and status

    checked_count(nodes)
    folder = private_folder(folder or default_folder())
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    # A moment's patience: `lab status` holds the lock while it looks.
    with _lock(folder, patience_s=2.0) as free:
        if not free:
            _refuse_a_second(_read_state(folder))
            raise LabFailed("another lab is being started", remedy="wait for it, and see `stackplan lab status`")
        _remove_remains(folder)
        try:
            with running_lab(nodes, folder / "current", family) as lab:
                state = LabState(os.getpid(), time.time(), str(lab.inventory), lab.index.url, lab.nodes, family)
                _write_state(folder, state)
                announce(state)
                ended.wait()
        finally:
            _remove_remains(folder)


def checked_count(nodes: int) -> int:
    """Return `nodes` if a lab can have that many. Raise LabFailed otherwise."""
    if not 1 <= nodes <= MOST_NODES:
        raise LabFailed(f"a lab has 1 to {MOST_NODES} nodes", observed=str(nodes), remedy="choose another `--nodes`")
    return nodes


def describe(state: LabState) -> str:
    """Return what a person needs to use the lab."""
    nodes = ", ".join(state.nodes) if len(state.nodes) <= 4 else f"{state.nodes[0]} to {state.nodes[-1]}"
    return (
        f"A lab runs (process {state.pid}): {nodes}, package index {state.index_url}\n"
        f"  stackplan apply playbooks/cuda13-{state.family}.yaml -i {state.inventory}\n"
        f"  ssh -F {shlex.quote(str(Path(state.inventory).parent / 'ssh_config'))} {state.nodes[0]}\n"
        "  stackplan lab stop\n"
    )


def _refuse_a_second(state: LabState | None) -> None:
    if state is not None:
        raise LabFailed(
            f"a lab runs already (process {state.pid}, {counted(len(state.nodes), 'node')})",
            observed=f"its inventory is {state.inventory}",
            remedy="use it, or end it with `stackplan lab stop`",
        )


@contextlib.contextmanager
def _lock(folder: Path, patience_s: float = 0.0) -> Iterator[bool]:
    """Yield whether the lab's lock is or becomes free in time; if so it is held until the block ends."""
    deadline = time.monotonic() + patience_s
    descriptor = os.open(folder / "lab.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        while not (free := _try_to_lock(descriptor)) and time.monotonic() < deadline:
            time.sleep(0.02)
        yield free
    finally:
        os.close(descriptor)


def _try_to_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _released(folder: Path, within_s: float) -> bool:
    """Wait until no process serves the lab any more; return whether that came in time."""
    with _lock(folder, within_s) as free:
        return free


def _read_state(folder: Path) -> LabState | None:
    """Return what the lab that holds the lock wrote about itself; None while it is still starting."""
    try:
        return _state(json.loads((folder / "lab.json").read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def _state(record: dict[str, object]) -> LabState:
    nodes = record["nodes"]
    assert isinstance(nodes, list)
    return LabState(
        pid=int(str(record["pid"])),
        started=float(str(record["started"])),
        inventory=str(record["inventory"]),
        index_url=str(record["index_url"]),
        nodes=tuple(str(name) for name in nodes),
        # A lab of a stackplan that knew no other does not say it.
        family=str(record.get("family", "blackwell")),
    )


def _write_state(folder: Path, state: LabState) -> None:
    part = folder / "lab.json.part"
    part.write_text(json.dumps(asdict(state), indent=1) + "\n", encoding="utf-8")
    part.chmod(0o600)
    part.replace(folder / "lab.json")


def _remove_remains(folder: Path) -> None:
    (folder / "lab.json").unlink(missing_ok=True)
    shutil.rmtree(folder / "current", ignore_errors=True)


def _tail(path: Path) -> str | None:
    text = path.read_text(encoding="utf-8", errors="replace").strip() if path.exists() else ""
    return text.splitlines()[-1] if text else None


def _serve_in_background(folder: Path, nodes: int, family: str) -> None:
    """Serve a lab for `start`, which reads one line of JSON from this process's output."""

    def answer(record: dict[str, object]) -> None:
        print(json.dumps(record), flush=True)  # noqa: T201 - the parent reads it
        # Nobody reads on: a later print must not end the lab.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    try:
        serve(nodes, folder, announce=lambda state: answer({"ready": asdict(state)}), family=family)
    except LabFailed as failed:
        answer({"failed": failed.summary, "observed": failed.observed, "remedy": failed.remedy})


if __name__ == "__main__":
    _serve_in_background(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
