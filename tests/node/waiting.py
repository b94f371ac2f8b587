"""Waiting for what another process does, on the condition and not on a clock."""

import threading
import time
from collections.abc import Callable


def wait_until(holds: Callable[[], bool], seconds: float = 15) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"it did not come about within {seconds:g} s"
        threading.Event().wait(0.01)
