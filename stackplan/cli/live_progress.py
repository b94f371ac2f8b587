"""Progress on a terminal: a line for each node at work, with its step, how long, and what it printed last."""

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from stackplan.model.event import (
    Awaited,
    ConnectionDropped,
    Event,
    NodeEnded,
    NodeStarted,
    OutputSeen,
    Reattached,
    RunResumed,
    RunStarted,
    StepEnded,
    StepStarted,
)
from stackplan.model.frozen import dataclass
from stackplan.model.quantity import duration_text
from stackplan.reports.count import counted
from stackplan.reports.progress import last_line, plain_line
from stackplan.reports.safe import safe

RESERVED_LINES = 4
"""Lines of the window that are left for what stands above and for the count below."""


@dataclass(slots=True)
class Row:
    """What one node is at; `since` is on the monotonic clock."""

    total: int
    since: float
    step: str = ""
    done: int = 0
    output: str = ""


_WORTH_A_LINE = (ConnectionDropped, Reattached, Awaited, StepEnded, NodeEnded)


class LiveProgress(AbstractContextManager["LiveProgress"]):
    """Draws while it is entered and leaves nothing behind but the lines of what ended: the report says the rest."""

    def __init__(self, console: Console | None = None, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._console = console or Console(stderr=True, markup=False, highlight=False, emoji=False)
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._rows: dict[str, Row] = {}
        self._nodes = 0
        self._command = "apply"
        self._ended = 0
        self._spinner = Spinner("dots")
        self._live = Live(
            console=self._console,
            get_renderable=self.display,
            transient=True,
            refresh_per_second=8,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_ended: object) -> None:
        self._live.stop()

    def __call__(self, event: Event) -> None:
        with self._lock:
            self._take(event)
        if isinstance(event, _WORTH_A_LINE) and (line := plain_line(event, self._command)):
            self.say(line)

    def say(self, text: str) -> None:
        """Write a line above the moving ones; `text` is safe already and nothing in it is markup."""
        self._console.print(Text(text))

    def display(self) -> RenderableType:
        """Return what is drawn now, never more lines than the window has."""
        with self._lock:
            rows = {node: row for node, row in self._rows.items() if row.step}
            waiting = self._nodes - self._ended - len(rows)
        room = max(1, self._console.size.height - RESERVED_LINES)
        table = Table.grid(padding=(0, 2))
        for node, row in [*rows.items()][:room]:
            table.add_row(*self._cells(node, row))
        hidden = max(0, len(rows) - room)
        return Group(table, Text(self._count(len(rows), hidden, waiting), style="dim"))

    def _cells(self, node: str, row: Row) -> tuple[RenderableType, ...]:
        elapsed = duration_text(max(0.0, self._monotonic() - row.since))
        return (
            self._spinner,
            Text(safe(node), style="bold", no_wrap=True),
            Text(f"{row.done + 1}/{row.total} {safe(row.step)}", no_wrap=True),
            Text(elapsed, style="dim", no_wrap=True),
            Text(row.output, style="dim", no_wrap=True, overflow="ellipsis"),
        )

    def _count(self, running: int, hidden: int, waiting: int) -> str:
        parts = [f"{self._ended} of {counted(self._nodes, 'node')} done", f"{running} at work"]
        if hidden:
            parts.append(f"{hidden} of them not shown")
        if waiting > 0:
            parts.append(f"{waiting} waiting")
        return " · ".join(parts)

    def _take(self, event: Event) -> None:
        match event:
            case RunStarted(nodes=nodes) | RunResumed(nodes=nodes):
                self._nodes = len(nodes)
                if isinstance(event, RunStarted):
                    self._command = event.command
            case NodeStarted(node=node, steps=steps):
                self._rows[node] = Row(len(steps), self._monotonic(), step="looking")
            case StepStarted(node=node, step=step) if node in self._rows:
                row = self._rows[node]
                row.step, row.since, row.output = step, self._monotonic(), ""
            case OutputSeen(node=node) if node in self._rows:
                self._rows[node].output = last_line(event) or self._rows[node].output
            case StepEnded(node=node) if node in self._rows:
                row = self._rows[node]
                row.done = min(row.done + 1, row.total - 1)
                row.step, row.since, row.output = "proving", self._monotonic(), ""
            case NodeEnded(node=node):
                self._rows.pop(node, None)
                self._ended += 1
