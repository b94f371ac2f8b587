"""The journal: the append-only record of a run, one JSON line an event, on disk before anything depends on it.

A crash can tear the last line and nothing else; a disk that fills up loses no line that was written.
"""

import contextlib
import errno
import fcntl
import json
import os
import stat
import threading
import time
from pathlib import Path

from stackplan.engine.encoding import Malformed, decode, encode
from stackplan.engine.json_text import fault
from stackplan.engine.state_folder import private_folder, unusable
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.event import Event, OutputSeen, RunStarted
from stackplan.model.location import Location

FORMAT = "stackplan.journal/1"
_FILE = "events.jsonl"
# Of what one action prints: its head. The tail comes with the end of the step, the whole stays on the node.
_OUTPUT_LIMIT = 256 * 1024
_LOOK_S = 0.5


def journal_path(state: Path, run: str) -> Path:
    """Return where the journal of a run stands, below the state folder."""
    return state / "runs" / run / _FILE


def open_journal(path: Path, flags: int = os.O_RDONLY) -> int:
    """Open a journal and return its descriptor. Raise OSError, for what is no plain file too: nothing is waited for."""
    # Without O_NONBLOCK a pipe that nobody writes to would hold up whoever only lists runs.
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "it is not a plain file", str(path))


class GoesOn(Exception):
    """The controller that writes the journal lives."""


class Journal:
    """The journal of a run that is going on. One writer: who shares it between threads holds a lock."""

    def __init__(self, path: Path) -> None:
        """Begin the journal, readable by its owner alone. Raise Invalid where it cannot be written or is there."""
        private_folder(path.parent)
        self.path = path
        self._torn: int | None = None
        self._printed: dict[tuple[str, str], int] = {}
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise unusable(path, error) from error
        try:
            # For as long as this controller lives: others tell by it whether the run goes on (`goes_on`).
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._write({"format": FORMAT})
            _sync(path.parent)
            _sync(path.parent.parent)
        except OSError as error:
            self.close()
            raise unusable(path, error) from error

    def append(self, event: Event) -> None:
        """Write one event; it is on disk when this returns. Raise OSError, the journal being whole as it was before.

        Output is not waited for, and past a limit for each step left out.
        """
        if not isinstance(event, OutputSeen):
            self._write(encode(event), lasting=True)
            return
        printed = self._printed.get((event.node, event.step), 0) + len(event.text)
        self._printed[event.node, event.step] = printed
        if printed <= _OUTPUT_LIMIT:
            self._write(encode(event))

    def _write(self, data: dict[str, object], *, lasting: bool = False) -> None:
        """Write a line, all of it or nothing; a `lasting` one is on the disk when this returns. Raise OSError."""
        line = json.dumps(data, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"
        self._cut_torn()
        size = os.fstat(self._file).st_size
        written = 0
        try:
            while written < len(line):
                written += os.write(self._file, line[written:])
            if lasting:
                os.fsync(self._file)
        except OSError:
            # A torn line in the middle would make everything after it unreadable.
            self._torn = size
            with contextlib.suppress(OSError):
                self._cut_torn()
            raise

    def _cut_torn(self) -> None:
        """Take away what a write that failed has left. Raise OSError where the disk does not even take that."""
        if self._torn is not None:
            os.ftruncate(self._file, self._torn)
            self._torn = None

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class ResumedJournal(Journal):
    """A journal that another controller began and this one goes on with; `events` is what it told until then."""

    def __init__(self, path: Path) -> None:
        """Take the journal up; a torn last line is cut off first.

        Raise GoesOn while its controller lives, Invalid where it is no journal or cannot be written.
        """
        self.path = path
        self._torn = None
        self._printed = {}
        try:
            self._file = open_journal(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        except OSError as error:
            raise unusable(path, error) from error
        try:
            _hold(self._file, path)
            self.events = self._mended()
        except OSError as error:
            self.close()
            raise unusable(path, error) from error
        except BaseException:
            self.close()
            raise
        for event in self.events:
            if isinstance(event, OutputSeen):
                key = (event.node, event.step)
                self._printed[key] = self._printed.get(key, 0) + len(event.text)

    def _mended(self) -> tuple[Event, ...]:
        """Cut off a torn last line, begin what was not even begun, and return the events. Raise Invalid or OSError.

        What is damaged otherwise, or belongs to another run, is left as it is.
        """
        events = read(self.path)
        check_run(self.path, events)
        os.ftruncate(self._file, self.path.read_bytes().rfind(b"\n") + 1)
        if not os.fstat(self._file).st_size:
            self._write({"format": FORMAT})
        return events


def _hold(descriptor: int, path: Path) -> None:
    """Take the flock of a journal that another controller began. Raise GoesOn where it is held.

    Who only looks (`goes_on`) holds it for a moment, too.
    """
    until = time.monotonic() + _LOOK_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                raise GoesOn(str(path)) from None
            threading.Event().wait(_LOOK_S / 20)
        else:
            return


def goes_on(path: Path) -> bool:
    """Return whether the controller that writes this journal lives, by the flock that dies with it."""
    try:
        descriptor = open_journal(path)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False


def _sync(folder: Path) -> None:
    """Have the names in a folder on the disk, where its filesystem can do that."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read(path: Path) -> tuple[Event, ...]:
    """Return the events of a journal. Raise Invalid when it cannot be read or is damaged other than by a torn end."""
    events, damage = read_head(path)
    if damage is not None:
        raise Invalid([damage])
    return events


def read_head(path: Path) -> tuple[tuple[Event, ...], Diagnosis | None]:
    """Return the events of a journal up to where it is damaged, and that damage, None where it is whole.

    What stands before a damage was written before it, and is as true as ever. Raise Invalid when nothing can be read.
    """
    try:
        with os.fdopen(open_journal(path), "rb") as file:
            lines = file.read().split(b"\n")
    except OSError as error:
        summary = f"cannot read the journal {path}"
        raise Invalid([Diagnosis(summary=summary, observed=error.strerror or str(error))]) from error
    found: list[Event] = []
    # The last piece is empty when the last line is whole; else it is torn, and what it began is not known.
    for number, line in enumerate(lines[:-1], start=1):
        event = _event(line, Location(str(path), number, 1))
        if isinstance(event, Diagnosis):
            return tuple(found), event
        if event is not None:
            found.append(event)
    return tuple(found), None


def check_run(path: Path, events: tuple[Event, ...]) -> None:
    """Raise Invalid where the journal in the folder of one run is that of another."""
    run = path.parent.name
    other = next((event.run for event in events if isinstance(event, RunStarted) and event.run != run), None)
    if other is not None:
        summary = f"the journal in the folder of run {run} is of run {other}"
        remedy = f"move {path} to where it belongs; `stackplan runs` lists the runs"
        raise Invalid([Diagnosis(summary=summary, expected=f"the journal of run {run}", observed=other, remedy=remedy)])


def _event(line: bytes, at: Location) -> Event | Diagnosis | None:
    """Return the event of a line, what is wrong with it, or None for the first line, which names the format."""
    try:
        data = json.loads(line)
        if at.line == 1:
            check_format(data)
        return decode(data) if at.line > 1 else None
    except (ValueError, RecursionError) as error:
        observed = line[:80].decode("utf-8", "replace")
        summary = f"the journal is damaged: {fault(error)}"
        return Diagnosis(summary=summary, expected="one event a line", observed=observed, at=at)


def check_format(data: object) -> None:
    """Raise Malformed unless `data` is the first line of a journal."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise Malformed(f"the first line does not name the format {FORMAT}")
