"""Waiting that ends: on time, or at once with TERM, so that what was begun can be taken back."""

from __future__ import annotations

import signal
import time
from types import FrameType
from typing import NoReturn

FIRST_PAUSE_S = 0.25
LONGEST_PAUSE_S = 10.0


class NotSo(Exception):
    """What was asked for did not come about; worded for people."""


class Terminated(Exception):
    """The task is to end: over its step's time, or because the operator wants it."""


def heed_termination() -> None:
    """From now on TERM raises Terminated where the task is, once; a second one changes nothing.

    The supervisor also asks whatever is started afterwards to end. Those are the programs that take back what was
    begun, so they are shielded by the mask, which programs inherit; those written in Go undo that.
    """
    signal.signal(signal.SIGTERM, _raise)


def _raise(_number: int, _frame: FrameType | None) -> NoReturn:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    raise Terminated


class Patience:
    """Looks that come ever more seldom, until `timeout_s` have passed."""

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._until = time.monotonic() + timeout_s
        self._pause = FIRST_PAUSE_S

    @property
    def left_s(self) -> float:
        return max(0.0, self._until - time.monotonic())

    @property
    def waited_s(self) -> float:
        return self.timeout_s - self.left_s

    @property
    def over(self) -> bool:
        return self.left_s <= 0.0

    def pause(self) -> None:
        """Let some time pass, not beyond the end."""
        time.sleep(min(self._pause, self.left_s))
        self._pause = min(LONGEST_PAUSE_S, self._pause * 1.5)


def duration(seconds: float) -> str:
    """Return `20m`, `90s`, `2h` for so many seconds."""
    for unit, size in (("h", 3600), ("m", 60)):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g}{unit}"
    return f"{seconds:g}s"
