"""`apply`: a run with an id, a journal and a report, over the nodes that it is given."""

import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stackplan.connection.lock_owner import LockOwner
from stackplan.engine.clock import Clock
from stackplan.engine.journal import Journal, journal_path
from stackplan.engine.perform import Run
from stackplan.engine.recorder import Recorder
from stackplan.engine.rollout import Connect, RollOut, Target
from stackplan.engine.run_id import run_id
from stackplan.engine.state_folder import private_folder
from stackplan.engine.stop import Stop
from stackplan.model.event import Event, RunEnded, RunStarted
from stackplan.model.playbook import Playbook
from stackplan.model.report import PlaybookIdentity, Report
from stackplan.model.secret import Redactor


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a run stands in: where its journal goes, who may see what, who runs it, and the time."""

    state: Path
    redactor: Redactor
    operator: str
    clock: Clock
    stop: Stop
    parallel: int = 10
    variables: Mapping[str, str] = field(default_factory=dict)


def identity(playbook: Playbook) -> PlaybookIdentity:
    """Return what a report says of the playbook that it is about."""
    return PlaybookIdentity(name=playbook.name, path=playbook.path, sha256=playbook.sha256, revision=playbook.revision)


def run_ended(report: Report, time: str) -> RunEnded:
    """Return the last event of the run that `report` is about."""
    stops = dict.fromkeys(node.stopped_at for node in report.nodes if node.stopped_at is not None)
    return RunEnded(run=report.run or "", outcome=report.outcome, time=time, stopped_at=tuple(stops))


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
    journal = Journal(journal_path(setting.state, run))
    recorder = Recorder(setting.redactor, journal, on_event)
    try:
        recorder.record(
            RunStarted(
                run=run,
                command="apply",
                playbook=identity(playbook),
                nodes=tuple(target.node.name for target in targets),
                steps=targets[0].steps,
                time=started,
                operator=setting.operator,
                host=socket.gethostname(),
                variables=setting.variables,
            )
        )
        owner = LockOwner(
            run=run, operator=setting.operator, host=socket.gethostname(), playbook=playbook.name, time=started
        )
        shared = Run(id=run, recorder=recorder, clock=setting.clock, stop=setting.stop)
        rollout = RollOut(shared, connect, owner, parallel=setting.parallel, planned=planned)
        try:
            rollout.roll_out(targets, playbook.rollout)
        finally:
            # Whatever happened: a journal without an end would say that the controller was killed.
            recorder.record(run_ended(recorder.report(), setting.clock.now()))
    finally:
        recorder.end()
        journal.close()
    return recorder.report()
