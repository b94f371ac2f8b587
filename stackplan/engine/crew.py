"""Threads that take nodes one after the other, as many at a time as they are allowed to be."""

import queue
import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
_LOOK_UP_S = 0.5
"""A signal that comes just before the wait for the next item begins is noticed when that wait ends."""


class Crew(Generic[Item, Result]):
    """Works on `items` in order, at most `parallel` at a time. The threads are daemons: an interrupted command ends."""

    def __init__(self, work: Callable[[Item], Result], parallel: int) -> None:
        self._work = work
        self._parallel = max(1, parallel)
        # A SimpleQueue, because its `put` may be called from a signal handler while this thread waits in `get`.
        self._inbox: queue.SimpleQueue[tuple[Result | None, BaseException | None] | None] = queue.SimpleQueue()

    def wake(self) -> None:
        """Have `each` call `between` now; fit for a signal handler."""
        self._inbox.put(None)

    def each(
        self,
        items: Sequence[Item],
        between: Callable[[], None] = lambda: None,
        patience_s: Callable[[], float | None] = lambda: None,
    ) -> tuple[Result, ...]:
        """Return the results in no particular order, when all items are done.

        `between` is called in this thread after each item and at each `wake`. `patience_s` says how much longer to wait
        for the next of these, None without end; when that is over, the results that there are must do. What a thread
        raised, a bug, is raised here when the others are done.
        """
        waiting: queue.SimpleQueue[Item] = queue.SimpleQueue()
        for item in items:
            waiting.put(item)
        for _ in range(min(self._parallel, len(items))):
            threading.Thread(target=self._take, args=(waiting,), daemon=True, name="stackplan-node").start()
        found: list[Result] = []
        raised: list[BaseException] = []
        done = 0
        while done < len(items):
            patience = patience_s()
            try:
                message = self._inbox.get(timeout=_LOOK_UP_S if patience is None else patience)
            except queue.Empty:
                if patience is None:
                    continue
                break
            if message is not None:
                done += 1
                result, error = message
                if error is not None:
                    raised.append(error)
                else:
                    found.append(result)  # type: ignore[arg-type]
            between()
        if raised:
            raise raised[0]
        return tuple(found)

    def _take(self, waiting: "queue.SimpleQueue[Item]") -> None:
        while True:
            try:
                item = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                result = self._work(item)
            except BaseException as error:  # noqa: BLE001 - it is raised again where somebody can see it
                self._inbox.put((None, error))
            else:
                self._inbox.put((result, None))
