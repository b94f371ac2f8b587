"""A run that was named on the command line: its id and its journal."""

import os
from dataclasses import dataclass
from pathlib import Path

from stackplan.engine.journal import goes_on, journal_path
from stackplan.engine.journal import read as read_journal
from stackplan.engine.runs import find_run
from stackplan.engine.state_folder import state_folder
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.event import Event, RunEnded, RunStarted


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRun:
    """`going_on`: its controller lived when the journal was read."""

    run: str
    path: Path
    events: tuple[Event, ...]
    going_on: bool


def kept_run(word: str) -> KeptRun:
    """Return the run that `word` stands for, as far as its journal has it. Raise Invalid where it tells nothing."""
    state = state_folder(os.environ)
    run = find_run(state, word)
    path = journal_path(state, run)
    # Asked before it is read: what ends in between is told by its last event.
    going_on = goes_on(path)
    events = read_journal(path)
    if not any(isinstance(event, RunStarted) for event in events):
        summary = f"the journal of run {run} does not say yet what it is about"
        observed = "it has only just begun" if going_on else "its controller ended at that moment; nothing ran"
        raise Invalid([Diagnosis(summary=summary, observed=observed)])
    return KeptRun(run=run, path=path, events=events, going_on=going_on and not isinstance(events[-1], RunEnded))
