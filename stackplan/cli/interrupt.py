"""Ctrl-C in two levels: the first lets running actions finish, the second, like SIGTERM, ends them on the nodes."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from stackplan.engine.stop import Level, Stop

FIRST = "Stopping: actions that run now may finish, no further step starts. Ctrl-C again ends them on the nodes."
SECOND = "Ending what runs on the nodes, and recording how it ended."


@contextmanager
def stopping(stop: Stop) -> Iterator[None]:
    """Turn SIGINT and SIGTERM into requests to `stop` for as long as this lasts, and tell the operator what they do."""

    def ask(number: int, _frame: FrameType | None) -> None:
        level = stop.request(Level.END if number == signal.SIGTERM else None)
        text = FIRST if level is Level.FINISH else SECOND
        # Not through a stream: the thread that was interrupted may be holding its lock.
        os.write(2, f"\n{text}\n".encode())

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
