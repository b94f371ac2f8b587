"""Saying what is waited for when an answer takes long. Starts a thread; imports nothing of ours."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

FIRST_S = 4.0
EVERY_S = 20.0


@contextmanager
def saying(say: Callable[[float], None], first_s: float = FIRST_S, every_s: float = EVERY_S) -> Iterator[None]:
    """Call `say` with the seconds that have passed, once the block takes longer than `first_s`, and every now and then.

    It is called from another thread, and not any more once the block has ended.
    """
    over = threading.Event()
    began = time.monotonic()

    def watch() -> None:
        pause = first_s
        while not over.wait(pause):
            say(time.monotonic() - began)
            pause = every_s

    thread = threading.Thread(target=watch, name="saying what is waited for", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
