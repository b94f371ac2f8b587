"""`resume`: a run that its controller left, or that was stopped, is taken up again and brought to its end."""

import os
import socket
from collections.abc import Callable, Iterable, Sequence

from stackplan.connection.failure import RunGoesOn
from stackplan.engine.apply import Setting, begun, lock_owner, recording
from stackplan.engine.journal import GoesOn, ResumedJournal, journal_path, read
from stackplan.engine.past import pasts
from stackplan.engine.perform import Run
from stackplan.engine.recorder import Recorder
from stackplan.engine.rollout import RollOut
from stackplan.engine.target import Connect, Target
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.event import Event, RunResumed, RunStarted
from stackplan.model.frozen import dataclass
from stackplan.model.report import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumption:
    """Which run is taken up, and which steps may be run again although nobody knows how they ended."""

    run: str
    again: frozenset[str] = frozenset()


def resume(
    targets: Sequence[Target],
    connect: Connect,
    setting: Setting,
    resumption: Resumption,
    on_event: Callable[[Event], None] | None = None,
) -> Report:
    """Bring the run to its end and return the report of all of it; `targets` are those of the run.

    Raise RunGoesOn while another controller works on it, Invalid when its journal cannot be gone on with.
    """
    run = resumption.run
    path = journal_path(setting.state, run)
    try:
        journal = ResumedJournal(path)
    except GoesOn:
        raise RunGoesOn(run, _controller(read(path))) from None
    events = journal.events
    try:
        _check_belongs(events, targets)
    except Invalid:
        journal.close()
        raise
    recorder = Recorder(setting.redactor, journal, on_event, events)
    now = setting.clock.now()
    first: RunStarted | RunResumed = RunResumed(
        run=run,
        nodes=tuple(target.node.name for target in targets),
        time=now,
        operator=setting.operator,
        host=socket.gethostname(),
        pid=os.getpid(),
    )
    if not any(isinstance(event, RunStarted) for event in events):
        # The first controller was killed before it could say what it was about: nothing was done.
        first = begun(targets, setting, run, now)
    with recording(recorder, journal, setting, first):
        shared = Run(
            id=run,
            recorder=recorder,
            clock=setting.clock,
            stop=setting.stop,
            reconnect_s=setting.reconnect_s,
            again=resumption.again,
            past=pasts(events),
        )
        owner = lock_owner(targets, setting, run, now)
        RollOut(shared, connect, owner, parallel=setting.parallel).roll_out(
            targets, targets[0].playbook.playbook.rollout
        )
    return recorder.report()


def _check_belongs(events: Iterable[Event], targets: Sequence[Target]) -> None:
    """Raise Invalid where the plan that was kept beside a journal is not that of its run."""
    begun = next((event for event in events if isinstance(event, RunStarted)), None)
    if begun is None:
        return
    book = targets[0].playbook.playbook
    nodes = ", ".join(target.node.name for target in targets)
    for told, kept in (
        (f"{begun.playbook.path} ({begun.playbook.sha256[:12]})", f"{book.path} ({book.sha256[:12]})"),
        (f"the nodes {', '.join(begun.nodes)}", f"the nodes {nodes}"),
    ):
        if told != kept:
            summary = f"the plan that was kept with run {begun.run} is that of another run"
            remedy = "`stackplan apply PLAYBOOK` begins a new run; it waits for what this one may have left running"
            raise Invalid([Diagnosis(summary=summary, expected=told, observed=kept, remedy=remedy)])


def _controller(events: Iterable[Event]) -> str:
    """Return who works on a run, by the last event that says so."""
    latest = [event for event in events if isinstance(event, (RunStarted, RunResumed))][-1:]
    for event in latest:
        if event.pid is not None:
            return f"process {event.pid} on {event.host or 'another host'}"
    return "another controller"
