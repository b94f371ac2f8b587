"""Where events go: redacted first, then kept, journalled and told, one at a time whichever thread they come from."""

import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace

from stackplan.engine.fold import fold, worst
from stackplan.engine.journal import Journal
from stackplan.engine.redaction import redacted
from stackplan.model.diagnosis import Diagnosis, Severity
from stackplan.model.event import Event, OutputSeen
from stackplan.model.outcome import NodeOutcome
from stackplan.model.report import Report
from stackplan.model.secret import Redactor


class Recorder:
    """The events of one run. A journal that cannot be written any longer does not lose them: they stay in memory, and
    are written, in their order, as soon as there is room. So a journal is always the beginning of what happened.

    `earlier` are those that an earlier controller of the run has journalled.
    """

    def __init__(
        self,
        redactor: Redactor,
        journal: Journal | None = None,
        on_event: Callable[[Event], None] | None = None,
        earlier: Iterable[Event] = (),
    ) -> None:
        self.redactor = redactor
        self._journal = journal
        self._on_event = on_event
        self._lock = threading.Lock()
        self._events: list[Event] = [event for event in earlier if not isinstance(event, OutputSeen)]
        self._troubles: list[Diagnosis] = []
        self._unwritten: deque[Event] = deque()
        self._why_not: str | None = None
        self._ended = False

    @property
    def why_unwritten(self) -> str | None:
        """Why something that happened is not in the journal, or None when all of it is: nothing may be begun then."""
        with self._lock:
            self._write_all()
            return self._why_not

    def record(self, event: Event) -> str | None:
        """Keep, journal and tell the event. Return why it, or one before it, could not be journalled, or None when all
        is on disk.
        """
        clean = redacted(event, self.redactor)
        with self._lock:
            if self._ended:
                return "the run has ended"
            if not isinstance(clean, OutputSeen):
                self._events.append(clean)
            trouble = self._write(clean)
            self._tell(clean)
        return trouble

    def end(self) -> None:
        """Take no more events: what a node that nobody waits for any longer has to tell comes too late."""
        with self._lock:
            self._ended = True

    def report(self) -> Report:
        """Return what the events amount to so far. A run that is not journalled to its end is none that went well."""
        with self._lock:
            report = fold(tuple(self._events), tuple(self._troubles))
            if not self._unwritten:
                return report
            return replace(report, outcome=worst((report.outcome, NodeOutcome.FAILED)))

    def _write(self, event: Event) -> str | None:
        if self._journal is None:
            return None
        # Output is worth no waiting: it stays on the node, and what came before it goes first.
        if not isinstance(event, OutputSeen) or not self._unwritten:
            self._unwritten.append(event)
        self._write_all()
        return self._why_not

    def _write_all(self) -> None:
        """Write what is not written yet, as far as the disk takes it."""
        while self._journal is not None and self._unwritten:
            try:
                self._journal.append(self._unwritten[0])
            except OSError as error:
                self._why_not = f"the journal {self._journal.path} cannot be written: {error.strerror or error}"
                remedy = "make room there; what the journal lacks by then, `stackplan resume` finds on the nodes"
                self._note(Diagnosis(summary=self._why_not, remedy=remedy))
                if isinstance(self._unwritten[0], OutputSeen):
                    self._unwritten.popleft()
                    continue
                return
            self._unwritten.popleft()
        self._why_not = None

    def _tell(self, event: Event) -> None:
        """Tell the event. A screen that fails does not fail the run: it is told no more, and the report says so."""
        if self._on_event is None:
            return
        try:
            self._on_event(event)
        except Exception as error:  # noqa: BLE001 - see above
            self._on_event = None
            summary = f"progress could not be shown to the end ({type(error).__name__}: {error})"
            self._note(Diagnosis(summary=summary, severity=Severity.WARNING))

    def _note(self, diagnosis: Diagnosis) -> None:
        if diagnosis not in self._troubles:
            self._troubles.append(redacted(diagnosis, self.redactor))
