"""Ctrl-C in two levels: the first lets running actions finish, the second ends them on the nodes.

SIGTERM and SIGHUP (a terminal that is closed) go the whole way at once.
"""

import contextlib
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from stackplan.cli.signals import ENDING
from stackplan.engine.stop import Level, Stop

FIRST = "Stopping: actions that run now may finish, no further step starts. Ctrl-C again ends them on the nodes."
SECOND = "Ending what runs on the nodes, and recording how it ended."


@contextmanager
def stopping(stop: Stop) -> Iterator[None]:
    """Turn the signals that end a command into requests to `stop` for as long as this lasts; tell what they do."""

    def ask(number: int, _frame: FrameType | None) -> None:
        level = stop.request(None if number == signal.SIGINT else Level.END)
        text = FIRST if level is Level.FINISH else SECOND
        # Not through a stream: the thread that was interrupted may be holding its lock.
        with contextlib.suppress(OSError):
            # The terminal may be gone.
            os.write(2, f"\n{text}\n".encode())

    # What whoever started the command wants ignored (`nohup`) stays so; Ctrl-C is asked for here.
    wanted = [it for it in ENDING if it == signal.SIGINT or signal.getsignal(it) is not signal.SIG_IGN]
    before = {number: signal.signal(number, ask) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
