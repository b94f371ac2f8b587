"""What goes on while it goes on: a moving line a node on a terminal, a plain line an event anywhere else."""

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol, Self

from stackplan.model.event import Event, OutputSeen, RunStarted
from stackplan.reports.progress import last_line, plain_line
from stackplan.reports.safe import safe

OUTPUT_EVERY_S = 10.0
"""How often at most a plain log shows what a node's action printed last: enough to see that it lives."""


class Progress(Protocol):
    """Takes events from any thread; words for people go through `say` while it is on."""

    def __call__(self, event: Event) -> None: ...

    def say(self, text: str) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_ended: object) -> None: ...


class PlainProgress(AbstractContextManager["PlainProgress"]):
    """Writes one line an event, and of what actions print the last line every now and then."""

    def __init__(self, write: Callable[[str], None], monotonic: Callable[[], float] = time.monotonic) -> None:
        self._write = write
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._shown_at: dict[str, float] = {}
        self._command = "apply"

    def __call__(self, event: Event) -> None:
        with self._lock:
            if isinstance(event, RunStarted):
                self._command = event.command
            line = self._output(event) if isinstance(event, OutputSeen) else plain_line(event, self._command)
            if line is not None:
                self._write(line)

    def say(self, text: str) -> None:
        with self._lock:
            self._write(text)

    def __exit__(self, *_ended: object) -> None:
        self._shown_at.clear()

    def _output(self, event: OutputSeen) -> str | None:
        now = self._monotonic()
        if now - self._shown_at.get(event.node, now - OUTPUT_EVERY_S) < OUTPUT_EVERY_S:
            return None
        line = last_line(event)
        if line is None:
            return None
        self._shown_at[event.node] = now
        return f"{safe(event.node)}: {safe(event.step)}: │ {line}"


def progress(*, terminal: bool, write: Callable[[str], None]) -> Progress:
    """Return the moving display for a terminal, else the plain lines."""
    if not terminal:
        return PlainProgress(write)
    from stackplan.cli.live_progress import LiveProgress  # noqa: PLC0415 - a log needs no moving display

    return LiveProgress()
