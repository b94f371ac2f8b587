"""Work that is done by a process of its own, while this one goes on with something else."""

import os
import pickle
import signal
import threading
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

Mine = TypeVar("Mine")
Others = TypeVar("Others")


def beside(mine: Callable[[], Mine], others: Callable[[], Others]) -> tuple[Mine, Others]:
    """Return what both come to, `others` worked out by a process that is forked off for it.

    What that process cannot bring to an end, whatever the reason, is worked out here as well: so an exception comes
    up as it would have without it. Both have to be free of effects; only what can be pickled comes back.
    """
    # A fork has one thread alone, and whatever another held locked stays so.
    if not hasattr(os, "fork") or (os.cpu_count() or 1) < 2 or threading.active_count() > 1:
        return mine(), others()
    reading, writing = os.pipe()
    try:
        child = os.fork()
    except OSError:
        os.close(reading)
        os.close(writing)
        return mine(), others()
    if child == 0:
        # Its answer is for this process alone: with nobody to read it any more, writing fails at once.
        os.close(reading)
        _answer(others, writing)
    os.close(writing)
    try:
        with os.fdopen(reading, "rb") as pipe:
            found = mine()
            answer = pipe.read()
    except BaseException:
        os.kill(child, signal.SIGKILL)
        _ended_well(child)
        raise
    # A process that was killed may have written half of it.
    return found, _unpacked(answer) if _ended_well(child) else others()


def _ended_well(child: int) -> bool:
    """Wait for the end of a process and return whether it was a good one; where that is not told, it was not.

    Who starts this program with SIGCHLD ignored has the kernel forget how its children ended.
    """
    try:
        return os.waitpid(child, 0)[1] == 0
    except ChildProcessError:
        return False


def _unpacked(answer: bytes) -> Any:
    return pickle.loads(answer)  # noqa: S301 - what this process itself wrote


def _answer(work: Callable[[], object], writing: int) -> NoReturn:
    """Write what the work comes to, or nothing, and end this process without a word."""
    status = 1
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        answer = pickle.dumps(work(), pickle.HIGHEST_PROTOCOL)
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(answer)
        status = 0
    finally:
        os._exit(status)
