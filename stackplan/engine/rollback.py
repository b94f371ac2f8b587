"""`rollback`: what a run wrote on its nodes is put back, as a run of its own, and proven to be as it was before."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace

from stackplan.connection.failure import ConnectionFailure
from stackplan.engine.apply import Setting, begun, lock_owner, recording
from stackplan.engine.bind import BoundPlaybook
from stackplan.engine.consult import Survey, consult
from stackplan.engine.inquiry import Inquiry
from stackplan.engine.journal import Journal, journal_path
from stackplan.engine.left_running import LeftRunning, ServiceMoved, left_running, next_step, services_moved
from stackplan.engine.node_session import NodeSession
from stackplan.engine.output import Output
from stackplan.engine.perform import NodeAtWork, Run
from stackplan.engine.recorder import Recorder
from stackplan.engine.rollout import RollOut
from stackplan.engine.run_id import run_id
from stackplan.engine.state_folder import private_folder
from stackplan.engine.stop import Level
from stackplan.engine.take_back import PUTTING_BACK, TakenBack, Thing, look, remedy, take_back
from stackplan.engine.target import Connect, Target
from stackplan.model.change import Change
from stackplan.model.event import Event, OutputSeen, StepEnded, StepStarted
from stackplan.model.frozen import dataclass
from stackplan.model.node import Node
from stackplan.model.outcome import NodeOutcome, Reason, StepOutcome
from stackplan.model.playbook import Playbook, Rollout
from stackplan.model.report import (
    NOT_TAKEN_BACK,
    ActionReport,
    NodeReport,
    PlaybookIdentity,
    Report,
    StepReport,
)
from stackplan.model.written import Written


@dataclass(slots=True)
class Acted:
    """A step whose action a run started on a node. `changed` is False where it is known to have changed nothing.

    `services` are those that it started, restarted, reloaded or stopped, as it proved itself.
    """

    action: ActionReport
    writes: tuple[Written, ...] = ()
    changed: bool = True
    services: tuple[ServiceMoved, ...] = ()

    @property
    def stays(self) -> bool:
        """Whether what it did cannot be taken back, as with a script."""
        return not self.writes

    @property
    def why_not_put_back(self) -> str:
        """Why nothing of it is put back, where there is no snapshot of it."""
        if self.stays:
            did = f"what `{self.action.kind}` did {NOT_TAKEN_BACK}"
            return f"{did}: there is no snapshot of it, and it stays as it is now"
        if not self.changed:
            return "it had changed nothing"
        paths = ", ".join(it.path for it in self.writes)
        return f"there is no snapshot of {paths} any more: of each thing the last three are kept"


def acted(events: Iterable[Event]) -> dict[str, dict[str, Acted]]:
    """Return by node, in the order in which they ran, the steps whose actions the run started. Pure."""
    found: dict[str, dict[str, Acted]] = {}
    for event in events:
        match event:
            case StepStarted():
                steps = found.setdefault(event.node, {})
                before = steps.pop(event.step, None)
                writes = dict.fromkeys((*(before.writes if before else ()), *event.action.writes))
                steps[event.step] = Acted(event.action, tuple(writes))
            case StepEnded() if event.step.id in found.get(event.node, {}):
                unsure = event.step.reason in (Reason.LOST, Reason.INTERRUPTED, Reason.TIMEOUT)
                step = found[event.node][event.step.id]
                step.changed = unsure or bool(event.step.changes)
                step.services = services_moved(event.step.changes, step.action)
            case _:
                pass
    return found


@dataclass(frozen=True, slots=True)
class Undo(Target):
    """A node and what the run `of` did there."""

    of: str = ""
    done: Mapping[str, Acted] = field(default_factory=dict)

    @property
    def steps(self) -> tuple[str, ...]:
        return tuple(self.done)

    @property
    def users(self) -> tuple[str | None, ...]:
        """Those as whom something was written; whoever connects where that is not known."""
        found = dict.fromkeys(it.user for step in self.done.values() for it in step.writes)
        return tuple(found) or (None,)

    def left_running(self, things: Sequence[Thing]) -> tuple[LeftRunning, ...]:
        """Return the services that the run started and that may use those of `things` which are put back."""
        return left_running({step: done.services for step, done in self.done.items()}, things)


def undo(node: Node, playbook: PlaybookIdentity, of: str, done: Mapping[str, Acted]) -> Undo:
    """Return what there is to do on a node; of the playbook nothing is needed but what it is called."""
    stand_in = Playbook(
        name=playbook.name,
        path=playbook.path,
        sha256=playbook.sha256,
        revision=playbook.revision,
        nodes=(),
        steps=(),
        variables={},
        # One node that cannot be taken back says nothing against the others.
        rollout=Rollout(max_failures=1_000_000),
    )
    return Undo(node, BoundPlaybook(playbook=stand_in, preconditions=(), steps=()), of=of, done=done)


def foresee(undos: Sequence[Undo], connect: Connect, survey: Survey) -> dict[str, TakenBack | ConnectionFailure]:
    """Return by node what would be put back, or why that is not known; changes nothing."""

    def work(target: Target, session: NodeSession) -> TakenBack:
        assert isinstance(target, Undo)
        return look(target.of, target.users, Inquiry(target.node.name, session, survey.clock))

    return consult(undos, connect, survey, work)


def roll_back(
    undos: Sequence[Undo], connect: Connect, setting: Setting, on_event: Callable[[Event], None] | None = None
) -> Report:
    """Put back what the run wrote on its nodes and return the report. Raise Invalid when no journal can be begun."""
    started = setting.clock.now()
    run = run_id(started)
    private_folder(setting.state)
    path = journal_path(setting.state, run)
    private_folder(path.parent)
    journal = Journal(path)
    recorder = Recorder(setting.redactor, journal, on_event)
    first = replace(begun(undos, setting, run, started), command="rollback", of=undos[0].of)
    with recording(recorder, journal, setting, first):
        shared = Run(id=run, recorder=recorder, clock=setting.clock, stop=setting.stop, reconnect_s=setting.reconnect_s)
        owner = lock_owner(undos, setting, run, started)
        _RollBack(shared, connect, owner, parallel=setting.parallel).roll_out(undos, undos[0].playbook.playbook.rollout)
    return recorder.report()


class _RollBack(RollOut):
    """A rollout that takes back rather than applies."""

    COMMAND = "rollback"

    def carry_out(self, target: Target, node: NodeAtWork) -> tuple[NodeReport, Mapping[str, StepOutcome]]:
        assert isinstance(target, Undo)
        output = Output(node.run.recorder.redactor, lambda text: _say(text, node))
        try:
            taken = take_back(target.of, target.users, node, output.feed)
        except ConnectionFailure as error:
            message = f"whether everything was put back is not known: {error}"
            # Once the operator has ended the run, a node that is lost is not waited for.
            told = node.run.stop.level is Level.END
            report = NodeReport(
                node=node.name,
                outcome=NodeOutcome.INTERRUPTED if told else NodeOutcome.LOST,
                reason=Reason.INTERRUPTED if told else Reason.LOST,
                message=message,
                remedy=error.remedy,
            )
            return report, {}
        output.end()
        steps = step_reports(target, taken)
        for step in steps:
            node.run.recorder.record(StepEnded(node=node.name, step=step, time=node.run.clock.now()))
        return node_report(target, taken, steps), {step.id: step.outcome for step in steps}


def _say(text: str, node: NodeAtWork) -> None:
    node.run.recorder.record(OutputSeen(node=node.name, step=PUTTING_BACK, text=text, time=node.run.clock.now()))


def step_reports(target: Undo, taken: TakenBack) -> tuple[StepReport, ...]:
    """Return what became of each step: taken back, not to be taken back, or not proven. Pure."""
    told: set[Change] = set()
    found = []
    for step, done in target.done.items():
        things = [it for it in taken.things if step in it.steps]
        faults = [it.why for it in things if it.why is not None]
        changes = tuple(change for it in things for change in it.changes if change not in told)
        told.update(changes)
        report = StepReport(id=step, outcome=StepOutcome.ROLLED_BACK, changes=changes)
        if faults or (taken.trouble is not None and done.writes):
            message = "; ".join(faults) or taken.trouble
            report = replace(report, outcome=StepOutcome.FAILED, message=message, changes=())
        elif not things:
            report = _without_snapshot(report, done)
        else:
            # Nothing was to be done for a thing that an earlier rollback has put back.
            outcome = StepOutcome.ROLLED_BACK if any(it.changes for it in things) else StepOutcome.SATISFIED
            report = replace(report, outcome=outcome, message=_as_before(things))
        found.append(report)
    return tuple(found)


def _as_before(things: Sequence[Thing]) -> str:
    already = "" if any(it.changes for it in things) else ", already"
    return f"{', '.join(it.path for it in things)} as before the run{already}"


def _besides(things: Sequence[Thing]) -> list[str]:
    """Return what is to be said of the things beside that they are put back: once a node, however many steps wrote."""
    said = []
    for it in things:
        # First what is short and goes furthest: what changed may be a long list, of which reports show the beginning.
        # For the same reason where it is kept stands ahead of that list.
        if it.later:
            said.append(f"{it.path} was written since by {', '.join(it.later)}, which was taken back with it")
        if it.kept:
            since = it.changed_since
            changed = since or "it had changed since the run wrote it"
            said.append(f"{it.path}: what was there is kept in {', '.join(it.kept)}; {changed}")
    return said


def _without_snapshot(report: StepReport, done: Acted) -> StepReport:
    outcome = StepOutcome.SKIPPED if done.stays or not done.changed else StepOutcome.FAILED
    return replace(report, outcome=outcome, message=done.why_not_put_back)


def node_report(target: Undo, taken: TakenBack, steps: Sequence[StepReport]) -> NodeReport:
    """Return how a node ended; what failed is said first, with where the clone lies. Pure."""
    name = target.node.name
    failed = next((step for step in steps if step.outcome is StepOutcome.FAILED), None)
    if taken.proven and failed is None and not taken.things and any(done.stays for done in target.done.values()):
        stays = f"nothing of run {target.of} can be put back here; what its actions did stays"
        return NodeReport(node=name, outcome=NodeOutcome.FAILED, message=stays)
    if taken.proven and failed is None:
        message = None if taken.things else f"run {target.of} had changed nothing here"
        running = target.left_running(taken.things)
        if said := [*_besides(taken.things), *(it.sentence for it in running)]:
            message = "\n".join(said)
        return NodeReport(
            node=name,
            outcome=NodeOutcome.OK,
            message=message,
            remedy=next_step(running),
            also_taken_back=_later(taken.things),
        )
    back = [it for it in taken.things if it.why is None]
    running = target.left_running(back)
    besides = "".join(f"\n{it}" for it in [*_besides(back), *(it.sentence for it in running)])
    if (restart := next_step(running)) is not None:
        besides += f": {restart}"
    why = "; ".join(taken.faults) or (failed.message if failed is not None else "")
    return NodeReport(
        node=name,
        outcome=NodeOutcome.INTERRUPTED if taken.interrupted else NodeOutcome.FAILED,
        reason=Reason.INTERRUPTED if taken.interrupted else None,
        stopped_at=None if failed is None else failed.id,
        message=f"THE ROLLBACK FAILED{', as the operator ended it' if taken.interrupted else ''}: {why}{besides}",
        remedy=remedy(taken, target.of),
        also_taken_back=_later(back),
    )


def _later(things: Sequence[Thing]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(run for it in things for run in it.later))
