"""Waiting for what another process does, on the condition and not on a clock."""

import threading
import time
from collections.abc import Callable


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 15
    while not holds():
        assert time.monotonic() < deadline, "it did not come about within 15 s"
        threading.Event().wait(0.01)
