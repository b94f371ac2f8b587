"""`apply`: a run with an id, a journal and a report, over the nodes that it is given."""

import os
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path

from stackplan.connection.lock_owner import LockOwner
from stackplan.engine.attachment import RECONNECT_S
from stackplan.engine.clock import Clock
from stackplan.engine.identity import identity
from stackplan.engine.journal import Journal, journal_path
from stackplan.engine.perform import Run
from stackplan.engine.recorder import Recorder
from stackplan.engine.rollout import RollOut
from stackplan.engine.run_id import run_id
from stackplan.engine.saved_plan import SavedPlan
from stackplan.engine.saved_plan_file import write_plan
from stackplan.engine.state_folder import private_folder
from stackplan.engine.stop import Stop
from stackplan.engine.target import Connect, Target
from stackplan.model.event import Event, RunEnded, RunResumed, RunStarted
from stackplan.model.frozen import dataclass
from stackplan.model.report import Report
from stackplan.model.secret import Redactor


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a run stands in: where its journal goes, who may see what, who runs it, and the time.

    `plan` is kept with the journal, so that another controller can take the run up; None where it may not be written.
    `reconnect_s` bounds the tries to reach a node again that was lost.
    """

    state: Path
    redactor: Redactor
    operator: str
    clock: Clock
    stop: Stop
    parallel: int = 10
    variables: Mapping[str, str] = field(default_factory=dict)
    reconnect_s: float = RECONNECT_S
    plan: SavedPlan | None = None


def run_ended(report: Report, time: str) -> RunEnded:
    """Return the last event of the run that `report` is about."""
    stops = dict.fromkeys(node.stopped_at for node in report.nodes if node.stopped_at is not None)
    also = dict.fromkeys(run for node in report.nodes for run in node.also_taken_back)
    return RunEnded(
        run=report.run or "",
        outcome=report.outcome,
        time=time,
        stopped_at=tuple(stops),
        also_taken_back=tuple(also),
    )


def apply(
    targets: Sequence[Target],
    connect: Connect,
    setting: Setting,
    on_event: Callable[[Event], None] | None = None,
    planned: Report | None = None,
) -> Report:
    """Run the playbook on all targets and return the report; `targets` must not be empty. The report bears what the
    plan `planned`, the one that was agreed to, foretold of each step.

    Raise Invalid when the journal cannot be begun: nothing has run then.
    """
    playbook = targets[0].playbook.playbook
    started = setting.clock.now()
    run = run_id(started)
    private_folder(setting.state)
    path = journal_path(setting.state, run)
    private_folder(path.parent)
    if setting.plan is not None:
        # Ahead of the journal: what a journal tells of can be taken up again.
        write_plan(kept_plan(path), setting.plan)
    journal = Journal(path)
    recorder = Recorder(setting.redactor, journal, on_event)
    with recording(recorder, journal, setting, begun(targets, setting, run, started)):
        shared = Run(id=run, recorder=recorder, clock=setting.clock, stop=setting.stop, reconnect_s=setting.reconnect_s)
        owner = lock_owner(targets, setting, run, started)
        rollout = RollOut(shared, connect, owner, parallel=setting.parallel, planned=planned)
        rollout.roll_out(targets, playbook.rollout)
    return recorder.report()


def kept_plan(journal: Path) -> Path:
    """Return where the plan of a run is kept, beside its journal."""
    return journal.parent / "plan.json"


def begun(targets: Sequence[Target], setting: Setting, run: str, time: str) -> RunStarted:
    """Return the first event of a run."""
    return RunStarted(
        run=run,
        command="apply",
        playbook=identity(targets[0].playbook.playbook),
        nodes=tuple(target.node.name for target in targets),
        steps=targets[0].steps,
        time=time,
        operator=setting.operator,
        host=socket.gethostname(),
        pid=os.getpid(),
        variables=setting.variables,
    )


def lock_owner(targets: Sequence[Target], setting: Setting, run: str, time: str) -> LockOwner:
    """Return what the lock of a node says of a run."""
    playbook = targets[0].playbook.playbook.name
    return LockOwner(run=run, operator=setting.operator, host=socket.gethostname(), playbook=playbook, time=time)


@contextmanager
def recording(recorder: Recorder, journal: Journal, setting: Setting, first: RunStarted | RunResumed) -> Iterator[None]:
    """Record how a run begins, or goes on, and how it ends, whatever happens in between; close its journal then."""
    try:
        recorder.record(first)
        try:
            yield
        finally:
            # Whatever happened: a journal without an end would say that the controller was killed.
            recorder.record(run_ended(recorder.report(), setting.clock.now()))
    finally:
        recorder.end()
        journal.close()
