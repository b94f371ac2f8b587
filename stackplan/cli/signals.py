"""What ends a command from outside: Ctrl-C, `kill`, a terminal that is closed. Standard library only."""

import contextlib
import os
import signal
from collections.abc import Callable
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
INTERRUPTED = 130


def leave_on_signals() -> None:
    """Have any of these signals end the process at once, in a word: nothing was begun.

    An exception would not do here: it would come up in the midst of somebody's import.
    """
    _on_signals(_leave)


def end_on_signals(status: int) -> None:
    """Have any of these signals end the process at once, with the exit status of the command that is over."""
    _on_signals(lambda _number, _frame: os._exit(status))


def _leave(_number: int, _frame: FrameType | None) -> None:
    with contextlib.suppress(OSError):
        os.write(2, b"Interrupted.\n")
    os._exit(INTERRUPTED)


def interrupt_on_signals() -> None:
    """Have the first of these signals raise KeyboardInterrupt; further ones are ignored, for the command to say so.

    Who starts it with `nohup` wants SIGHUP ignored, and has that.
    """
    _on_signals(_interrupt)


def _on_signals(handler: Callable[[int, FrameType | None], None]) -> None:
    for number in ENDING:
        if number is signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
