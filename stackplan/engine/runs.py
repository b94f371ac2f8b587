"""The runs that the state folder tells of: each in a line, by the head and the tail of its journal; and one by name.

A journal that cannot be read is told as such and costs no other run its line.
"""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from stackplan.engine.encoding import Malformed, decode
from stackplan.engine.journal import check_format, goes_on, journal_path, open_journal
from stackplan.engine.json_text import fault
from stackplan.language.nearest import alternatives, did_you_mean, nearest
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.event import Event, NodeEnded, RunEnded, RunStarted
from stackplan.model.outcome import NodeOutcome
from stackplan.model.run_line import RunLine, RunState

_HEAD = 64 * 1024
_TAIL = 8 * 1024
_LONGEST_HEAD = 4 * 1024 * 1024
# As the journal writes them.
_ENDS = (b'{"event":"RunEnded"', b'{"event":"NodeEnded"')
_SHOWN = 80
LAST = "last"


def run_ids(state: Path) -> tuple[str, ...]:
    """Return the ids of all runs, the newest first: they begin with the time. None where there is no such folder yet.

    Raise Invalid where the folder cannot be read.
    """
    folder = state / "runs"
    try:
        with os.scandir(folder) as entries:
            return tuple(sorted((entry.name for entry in entries if entry.is_dir()), reverse=True))
    except FileNotFoundError:
        return ()
    except OSError as error:
        summary = f"cannot read the runs in {folder}"
        remedy = "set STACKPLAN_STATE to the folder in which they are kept"
        raise Invalid([Diagnosis(summary=summary, observed=error.strerror or str(error), remedy=remedy)]) from error


def run_lines(state: Path, ids: Iterable[str]) -> Iterator[RunLine]:
    """Yield a line for each run; of every journal its head and its tail are read, however long it is."""
    for run in ids:
        yield run_line(journal_path(state, run), run)


def run_line(path: Path, run: str) -> RunLine:
    """Return the line of a run; nothing is raised."""
    try:
        with os.fdopen(open_journal(path), "rb") as file:
            begun = _begun(file)
            tail = _tail(file)
    except OSError as error:
        return _unreadable(run, f"{path}: {error.strerror or error}")
    except (ValueError, RecursionError) as error:
        return _unreadable(run, f"its journal is damaged: {fault(error)}")
    if begun is None:
        # Whoever has only just begun it, or was killed at that moment.
        state = RunState.RUNNING if goes_on(path) else RunState.UNREADABLE
        return RunLine(run=run, state=state, why="its journal does not say yet what it is about")
    if begun.run != run:
        return _unreadable(run, f"its journal is of run {begun.run}")
    # What comes behind an end is a run that was taken up again.
    ended = tail[-1] if tail and isinstance(tail[-1], RunEnded) else None
    unended = RunState.RUNNING if ended is None and goes_on(path) else RunState.CUT_OFF
    return RunLine(
        run=run,
        state=unended if ended is None else RunState.ENDED,
        command=begun.command,
        started=begun.time,
        ended=None if ended is None else ended.time,
        playbook=begun.playbook.name,
        path=begun.playbook.path,
        revision=begun.playbook.revision,
        nodes=begun.nodes,
        outcome=None if ended is None else ended.outcome,
        stopped_at=_stops(ended, tail),
        operator=begun.operator,
        host=begun.host,
        of=begun.of,
        also_taken_back=() if ended is None else ended.also_taken_back,
    )


def with_rollbacks(lines: Iterable[RunLine]) -> tuple[RunLine, ...]:
    """Return the lines, the newest first as they come, with which rollback put back what a run wrote. Pure.

    Only of a rollback that ended well it is told: of another one the report says how far it came.
    """
    given = tuple(lines)
    rollbacks = [it for it in given if it.of is not None and it.outcome is NodeOutcome.OK]
    return tuple(_rolled_back(line, rollbacks) for line in given)


def _rolled_back(line: RunLine, rollbacks: Iterable[RunLine]) -> RunLine:
    whole = [it for it in rollbacks if it.of == line.run and set(it.nodes) >= set(line.nodes)]
    parts = [it for it in rollbacks if it.of == line.run or line.run in it.also_taken_back]
    by = next(iter([*whole, *parts]), None)
    if by is None:
        return line
    return replace(line, rolled_back_by=by.run, rolled_back_in_part=not whole)


def _unreadable(run: str, why: str) -> RunLine:
    return RunLine(run=run, state=RunState.UNREADABLE, why=why)


def _begun(file: BinaryIO) -> RunStarted | None:
    """Return how the run began, None where that is not written (yet). Raise ValueError for what is no journal."""
    first = file.readline(_HEAD)
    if not first.endswith(b"\n"):
        if not b'{"format"'.startswith(first[:9]):
            raise Malformed("its first line does not name the format")
        return None
    check_format(json.loads(first))
    second = file.readline(_LONGEST_HEAD)
    if not second.endswith(b"\n"):
        return None
    event = decode(json.loads(second))
    if not isinstance(event, RunStarted):
        raise Malformed("it does not begin with the start of a run")
    return event


def _tail(file: BinaryIO) -> tuple[Event | None, ...]:
    """Return the whole events at the end of a journal, one at least where there is one. A line torn off is left out.

    Only of ends of nodes and runs the contents are told; the others, which may be long, are None.
    """
    size = file.seek(0, os.SEEK_END)
    room = _TAIL
    while True:
        start = max(0, size - room)
        file.seek(start)
        lines = file.read(size - start).split(b"\n")[:-1]
        # The first line is that of the format, and where the window begins later, it may be the end of one.
        lines = lines[1:]
        if lines or start == 0:
            return tuple(decode(json.loads(line)) if line.startswith(_ENDS) else None for line in lines)
        room *= 4


def _stops(ended: RunEnded | None, tail: tuple[Event | None, ...]) -> tuple[str, ...]:
    if ended is not None and ended.stopped_at:
        return ended.stopped_at
    stops = (event.stopped_at for event in tail if isinstance(event, NodeEnded))
    return tuple(dict.fromkeys(stop for stop in stops if stop is not None))


def find_run(state: Path, word: str) -> str:
    """Return the id of the run that is meant by `word`: an id, a part that no other has, or `last`.

    Raise Invalid, with what may have been meant, where it is none or several.
    """
    ids = run_ids(state)
    if not ids:
        summary = f"there is no run in {state / 'runs'}"
        raise Invalid(
            [Diagnosis(summary=summary, remedy="`stackplan apply` makes one; STACKPLAN_STATE moves the folder")]
        )
    if word == LAST:
        return ids[0]
    if word in ids:
        return word
    found = [run for run in ids if word and word in run]
    if len(found) == 1:
        return found[0]
    raise Invalid([_ambiguous(word, found) if found else _no_such(word, ids)])


def _ambiguous(word: str, found: list[str]) -> Diagnosis:
    more = f" and {len(found) - 6} more" if len(found) > 6 else ""
    return Diagnosis(
        summary=f"`{word}` stands for {len(found)} runs",
        observed=f"{', '.join(found[:6])}{more}",
        remedy="give more of the id, or all of it",
    )


def _no_such(word: str, ids: tuple[str, ...]) -> Diagnosis:
    return Diagnosis(
        summary=f"there is no run `{word if len(word) <= _SHOWN else f'{word[:_SHOWN]}…'}`",
        expected="the id of a run, a part that no other run has, or `last`",
        remedy=_near(word, ids) or "`stackplan runs` lists them",
    )


def _near(word: str, ids: tuple[str, ...]) -> str | None:
    """Return the question which run may be meant, or None; the word may be a slip of an id or of an id's end."""
    whole = did_you_mean(word, ids)
    if whole is not None:
        return whole
    ends = {run.rpartition("-")[2]: run for run in reversed(ids)}
    found = nearest(word, ends)
    return f"did you mean {alternatives(ends[it] for it in found)}?" if found else None
