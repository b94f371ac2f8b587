"""`stackplan WORDS` as tests call it: the real command line in a process of its own, mostly forked from a ready one."""

import contextlib
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.prefork import HEAD

ROOT = Path(__file__).parents[1]
_PLAIN_LOCALES = {None, "", "C", "C.UTF-8", "en_US.UTF-8"}
# What these say makes no difference to what a command does: containers set them for all that runs in them.
_SAY_NOTHING = {"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"}
_SENDING = threading.Lock()


def run(
    *words: str | os.PathLike[str],
    environment: Mapping[str, str],
    folder: Path | None = None,
    timeout_s: float = 110,
    anew: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run `stackplan WORDS`, with nothing on standard input, and return how it ended. Raise TimeoutExpired.

    The process is forked from one that has everything imported, unless the `environment` says something to the
    interpreter itself, or the test wants it to be started `anew`: for what only an interpreter of its own can show,
    such as that the order of a set is no part of what is printed.
    """
    argv = [sys.executable, "-m", "stackplan", *map(os.fspath, words)]
    if anew or not _says_nothing_to_the_interpreter(environment):
        return subprocess.run(
            argv, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=timeout_s, check=False,
        )  # fmt: skip
    with contextlib.ExitStack() as stack:
        nothing = stack.enter_context(Path(os.devnull).open("rb"))
        (out, to_out), (error, to_error), (ending, to_ending) = (stack.enter_context(_pipe()) for _ in range(3))
        request = {"words": argv[3:], "folder": str(folder or Path.cwd()), "environment": dict(environment)}
        _ask(request, [nothing.fileno(), to_out.fileno(), to_error.fileno(), to_ending.fileno()])
        for end in (to_out, to_error, to_ending):
            end.close()
        process = int(ending.readline())
        pool = stack.enter_context(ThreadPoolExecutor(3))
        try:
            said = [pool.submit(stream.read) for stream in (out, error, ending)]
            stdout, stderr, status = (it.result(timeout_s) for it in said)
        except TimeoutError as late:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            raise subprocess.TimeoutExpired(argv, timeout_s) from late
    return subprocess.CompletedProcess(argv, int(status), stdout, stderr)


def end() -> None:
    """End the process that commands are forked from, if there is one, and wait for it."""
    if _ready.cache_info().currsize:
        requests, process = _ready()
        _ready.cache_clear()
        requests.close()
        process.wait()


@functools.cache
def _ready() -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Return the process that commands are forked from, started when the first is wanted, and the way to it."""
    here, there = socket.socketpair()
    with there:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.prefork", str(there.fileno())],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            pass_fds=[there.fileno()],
        )
    return here, process


def _ask(request: Mapping[str, object], descriptors: list[int]) -> None:
    text = json.dumps(request).encode("ascii")
    with _SENDING:
        requests, _ = _ready()
        socket.send_fds(requests, [HEAD.pack(len(text))], descriptors)
        requests.sendall(text)


@contextlib.contextmanager
def _pipe() -> Iterator[tuple[object, object]]:
    """Yield both ends; what is read is text as a terminal would be told it."""
    reading, writing = os.pipe()
    with open(reading, encoding="utf-8") as read, open(writing, "wb", buffering=0) as write:  # noqa: PTH123 - descriptors
        yield read, write


def _says_nothing_to_the_interpreter(environment: Mapping[str, str]) -> bool:
    """Whether an interpreter of its own would be no other than the one that is ready."""
    if environment.get("PYTHONPATH") not in {None, "", str(ROOT)}:
        return False
    if any(name.startswith("PYTHON") for name in environment.keys() - _SAY_NOTHING - {"PYTHONPATH"}):
        return False
    return all(environment.get(name) in _PLAIN_LOCALES for name in ("LC_ALL", "LC_CTYPE", "LANG"))
