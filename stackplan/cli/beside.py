"""Work that is done by a process of its own, while this one goes on with something else."""

import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, TypeAlias, TypeVar

Mine = TypeVar("Mine")
Others = TypeVar("Others")
Parts: TypeAlias = Iterator[int]


MOST_PARTS = 256


def beside(mine: Callable[[Parts], Mine], others: Callable[[Parts], Others], parts: int = 0) -> tuple[Mine, Others]:
    """Return what both come to, `others` worked out by a process that is forked off for it.

    Both are handed what they take the numbers of parts from, 0 to `parts` - 1: each number goes to one of them, to
    whoever asks first. Where `mine` takes all that it can get, so that none is left over, every part is done.

    What that process cannot bring to an end, whatever the reason, is worked out here as well: so an exception comes
    up as it would have without it. Both have to be free of effects; only what can be pickled comes back.
    """
    if parts > MOST_PARTS:
        raise ValueError(f"expected at most {MOST_PARTS} parts, got {parts}")
    # A fork has one thread alone, and whatever another held locked stays so.
    if not hasattr(os, "fork") or (os.cpu_count() or 1) < 2 or threading.active_count() > 1:
        return mine(iter(range(parts))), others(iter(()))
    opened: list[int] = []
    try:
        opened.append(_queue(parts))
        opened += os.pipe()
        child = os.fork()
    except OSError:
        # No process, or no descriptor, is to be had.
        for it in opened:
            os.close(it)
        return mine(iter(range(parts))), others(iter(()))
    queue, reading, writing = opened
    if child == 0:
        # Its answer is for this process alone: with nobody to read it any more, writing fails at once.
        os.close(reading)
        _answer(lambda: others(_taken(queue)), writing)
    os.close(writing)
    own: list[int] = []
    try:
        with os.fdopen(reading, "rb") as pipe:
            found = mine(_noted(_taken(queue), own))
            answer = pipe.read()
    except BaseException:
        os.kill(child, signal.SIGKILL)
        _ended_well(child)
        raise
    finally:
        os.close(queue)
    # A process that was killed may have written half of it.
    if _ended_well(child):
        return found, _unpacked(answer)
    return found, others(it for it in range(parts) if it not in own)


def _queue(parts: int) -> int:
    """Return a pipe that holds a byte for each part, and after them its end: two processes can take from it."""
    queue, filling = os.pipe()
    with os.fdopen(filling, "wb") as pipe:
        pipe.write(bytes(range(parts)))
    return queue


def _taken(queue: int) -> Iterator[int]:
    while number := os.read(queue, 1):
        yield number[0]


def _noted(parts: Parts, own: list[int]) -> Iterator[int]:
    for it in parts:
        own.append(it)
        yield it


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
