"""What ends a command from outside: Ctrl-C, `kill`, a terminal that is closed.

Imports nothing that an interpreter does not have in memory from its start: while anything is read from a disk, Ctrl-C
would still end in a traceback. So it is `_signal`, which the module `signal` is made of.
"""

import _signal  # type: ignore[import-not-found] # part of the interpreter, and of no stubs
import os
import sys

# Not out of `typing`, which takes longer than all of this; type checkers know the name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    Handler = Callable[[int, FrameType | None], None]

ENDING: tuple[int, ...] = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP)
INTERRUPTED = 130
AGAIN_S = 0.05


def leave_on_signals() -> None:
    """Have any of these signals end the process at once, in a word: nothing was begun.

    An exception would not do here: it would come up in the midst of somebody's import.
    """
    _on_signals(_leave)


def end_on_signals(status: int) -> None:
    """Have any of these signals end the process at once, with the exit status of the command that is over."""
    _on_signals(lambda _number, _frame: os._exit(status))


def _leave(_number: int, _frame: "FrameType | None") -> None:
    try:  # noqa: SIM105 - contextlib is not in memory yet
        os.write(2, b"Interrupted.\n")
    except OSError:
        pass
    os._exit(INTERRUPTED)


def interrupt_on_signals() -> None:
    """Have the first of these signals raise KeyboardInterrupt; further ones are ignored, for the command to say so.

    Who starts it with `nohup` wants SIGHUP ignored, and has that.
    """
    sys.unraisablehook = _unraised
    _on_signals(_interrupt)


def _on_signals(handler: "Handler") -> None:
    for number in ENDING:
        if number == _signal.SIGINT or _signal.getsignal(number) is not _signal.SIG_IGN:
            _signal.signal(number, handler)


def _unraised(lost: "sys.UnraisableHookArgs") -> None:
    """Have an interrupt that came up in a finalizer, where it is dropped, come again once that is over."""
    if isinstance(lost.exc_value, KeyboardInterrupt):
        _signal.signal(_signal.SIGALRM, _interrupt)
        _signal.setitimer(_signal.ITIMER_REAL, AGAIN_S)
    else:
        sys.__unraisablehook__(lost)


def _interrupt(_number: int, _frame: "FrameType | None") -> None:
    for number in ENDING:
        _signal.signal(number, _signal.SIG_IGN)
    raise KeyboardInterrupt
