"""A run that was named on the command line: its id and its journal."""

import os
from pathlib import Path
from typing import Self

from stackplan.engine.journal import check_run, goes_on, journal_path, read_head
from stackplan.engine.runs import find_run, run_line
from stackplan.engine.state_folder import state_folder
from stackplan.model.diagnosis import Diagnosis, Invalid, Severity
from stackplan.model.event import Event, RunEnded, RunStarted
from stackplan.model.frozen import dataclass
from stackplan.reports.runs import names_text, time_text
from stackplan.reports.safe import safe


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRun:
    """`going_on`: its controller lived when the journal was read. `events` reach up to a `damage`, None: all of it."""

    run: str
    path: Path
    events: tuple[Event, ...]
    going_on: bool
    damage: Diagnosis | None = None

    @property
    def warnings(self) -> tuple[Diagnosis, ...]:
        """What a report of the run has to say of its journal."""
        if self.damage is None:
            return ()
        line = self.damage.at.line if self.damage.at is not None else 0
        summary = f"what is told here ends ahead of line {line} of {self.path}: {self.damage.summary}"
        remedy = "`stackplan verify PLAYBOOK` tells where the nodes stand"
        return (Diagnosis(severity=Severity.WARNING, summary=summary, observed=self.damage.observed, remedy=remedy),)

    def whole(self) -> Self:
        """Return this run. Raise Invalid where a part of its journal cannot be read: nothing can be built on it."""
        if self.damage is not None:
            raise Invalid([self.damage])
        return self


def named(path: Path, run: str) -> str:
    """Return the sentence that says which run a word such as `last` stands for."""
    line = run_line(path, run)
    if line.playbook is None:
        return f"This is run {run}."
    who = f"{safe(line.operator or '?', 40)} on {safe(line.host or '?', 40)}"
    began = f"begun {time_text(line.started)} by {who}"
    return f"This is run {run}: playbook {safe(line.playbook, 60)} on {names_text(line.nodes)}, {began}."


def kept_run(word: str) -> KeptRun:
    """Return the run that `word` stands for, as far as its journal has it. Raise Invalid where it tells nothing."""
    state = state_folder(os.environ)
    run = find_run(state, word)
    path = journal_path(state, run)
    # Asked before it is read: what ends in between is told by its last event.
    going_on = goes_on(path)
    events, damage = read_head(path)
    check_run(path, events)
    if not any(isinstance(event, RunStarted) for event in events):
        if damage is not None:
            raise Invalid([damage])
        summary = f"the journal of run {run} does not say yet what it is about"
        observed = "it has only just begun" if going_on else "its controller ended at that moment; nothing ran"
        raise Invalid([Diagnosis(summary=summary, observed=observed)])
    going_on = going_on and not isinstance(events[-1], RunEnded)
    return KeptRun(run=run, path=path, events=events, going_on=going_on, damage=damage)
