"""Several requests at once, none of which can hold up the answer for longer than it may take."""

from __future__ import annotations

import threading
import time
from typing import Callable, Iterable, TypeVar

Item = TypeVar("Item")
Found = TypeVar("Found")


def each(work: Callable[[Item], Found], items: Iterable[Item], *, most: int, limit_s: float) -> dict[Item, Found]:
    """Return what `work` makes of each item, by at most `most` threads; what takes longer than `limit_s` is left out.

    A server that sends a byte now and then keeps every time limit on reading: such a thread is left behind, and ends
    with the process, which answers this batch of questions and no other.
    """
    waiting = list(dict.fromkeys(items))
    found: dict[Item, Found] = {}
    threads = [threading.Thread(target=_work, args=(work, waiting, found), daemon=True) for _ in waiting[:most]]
    waiting.reverse()
    for thread in threads:
        thread.start()
    until = time.monotonic() + limit_s
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    waiting.clear()
    return dict(found)


def _work(work: Callable[[Item], Found], waiting: list[Item], found: dict[Item, Found]) -> None:
    while True:
        try:
            item = waiting.pop()
        except IndexError:
            return
        found[item] = work(item)
