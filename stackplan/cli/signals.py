"""What ends a command from outside: Ctrl-C, `kill`, a terminal that is closed. Standard library only."""

import signal
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def interrupt_on_signals() -> None:
    """Have the first of these signals raise KeyboardInterrupt; further ones are ignored, for the command to say so.

    Who starts it with `nohup` wants SIGHUP ignored, and has that.
    """
    for number in ENDING:
        if number is signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
