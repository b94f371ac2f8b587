"""From the events of a run to its report: the one way in which such a report comes about. Pure; imports model only."""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from stackplan.model.diagnosis import Diagnosis
from stackplan.model.event import (
    Event,
    NodeEnded,
    NodeProven,
    NodeStarted,
    RestoreStarted,
    RunEnded,
    RunResumed,
    RunStarted,
    StepEnded,
    StepStarted,
)
from stackplan.model.frozen import dataclass
from stackplan.model.outcome import NodeOutcome, Reason, StepOutcome
from stackplan.model.report import ConditionReport, NodeReport, PlaybookIdentity, Report, StepReport

# The worst first; the exit status follows the same order (engine.exit_status).
_WORST = (
    NodeOutcome.INTERRUPTED,
    NodeOutcome.LOCKED,
    NodeOutcome.STALE,
    NodeOutcome.LOST,
    NodeOutcome.UNREACHABLE,
    NodeOutcome.FAILED,
    NodeOutcome.SKIPPED,
    NodeOutcome.PENDING,
    NodeOutcome.OK,
)
_NO_END = "the controller ended before the step did; on the node it may have gone on"
_UNTOLD = "it was started, and its end is not in the journal; `stackplan verify` tells where the node stands"
_CUT_OFF = "was being put back when the controller ended; how far is not known"


def worst(outcomes: Iterable[NodeOutcome]) -> NodeOutcome:
    """Return the worst of the outcomes; OK when there is none."""
    found = set(outcomes)
    return next((outcome for outcome in _WORST if outcome in found), NodeOutcome.OK)


@dataclass(slots=True)
class _NodeSoFar:
    steps: tuple[str, ...]
    started: NodeStarted | None = None
    preconditions: tuple[ConditionReport, ...] = ()
    open: dict[str, StepStarted] = field(default_factory=dict)
    running: StepStarted | None = None
    reports: dict[str, StepReport] = field(default_factory=dict)
    ended: NodeEnded | None = None
    restoring: RestoreStarted | None = None


def fold(events: Iterable[Event], diagnoses: tuple[Diagnosis, ...] = (), *, going_on: bool = False) -> Report:
    """Return the report of a run from its events, whether it ended or not; the last word on a step counts.

    What has no end is pending where the controller is known to be `going_on`, and lost or interrupted else.
    Raise ValueError when no run starts among them.
    """
    begun: RunStarted | None = None
    ended: RunEnded | None = None
    nodes: dict[str, _NodeSoFar] = {}
    for event in events:
        match event:
            case RunStarted():
                begun = event
                nodes = {node: _NodeSoFar(event.steps) for node in event.nodes}
            case RunResumed():
                ended = None
            case RunEnded():
                ended = event
            case _:
                if event.node in nodes:
                    _take(nodes[event.node], event)
    if begun is None:
        raise ValueError("no run starts among these events")
    reports = tuple(_node_report(node, so_far, begun.run, going_on=going_on) for node, so_far in nodes.items())
    return Report(
        command=begun.command,
        outcome=worst(report.outcome for report in reports) if ended is None else ended.outcome,
        playbook=begun.playbook,
        nodes=reports,
        run=begun.run,
        started=begun.time,
        ended=None if ended is None else ended.time,
        variables=begun.variables,
        diagnoses=diagnoses,
    )


def _take(so_far: _NodeSoFar, event: Event) -> None:
    match event:
        case NodeStarted():
            # Taken again by a run that was resumed: what it had come to is over, what was told of its steps is not.
            so_far.started = event
            so_far.steps = event.steps
            so_far.ended = None
        case NodeProven():
            so_far.preconditions = event.preconditions
        case RestoreStarted():
            so_far.restoring = event
        case StepStarted():
            so_far.restoring = None
            so_far.running = so_far.open[event.step] = event
        case StepEnded():
            so_far.running = None
            so_far.open.pop(event.step.id, None)
            so_far.reports[event.step.id] = event.step
        case NodeEnded():
            so_far.ended = event
            so_far.restoring = None
        case _:
            pass


def _node_report(node: str, so_far: _NodeSoFar, run: str, *, going_on: bool) -> NodeReport:
    if going_on and so_far.ended is None:
        return _node_at_work(node, so_far)
    steps = tuple(_step_report(step, so_far) for step in so_far.steps)
    wave = None if so_far.started is None else so_far.started.wave
    if so_far.ended is not None:
        told = so_far.ended.report
        at = told.stopped_at or (None if so_far.running is None else so_far.running.step)
        return replace(
            told, steps=steps, wave=wave, stopped_at=at, preconditions=so_far.preconditions or told.preconditions
        )
    if so_far.started is None:
        message = "the rollout ended before its turn"
        return NodeReport(node=node, outcome=NodeOutcome.SKIPPED, steps=steps, message=message)
    running = so_far.running
    if so_far.restoring is not None and running is None:
        return _node_being_put_back(node, so_far, so_far.restoring, run)
    return NodeReport(
        node=node,
        outcome=NodeOutcome.INTERRUPTED if running is None else NodeOutcome.LOST,
        steps=steps,
        wave=wave,
        stopped_at=None if running is None else running.step,
        reason=Reason.INTERRUPTED if running is None else Reason.LOST,
        message="the controller ended before the node did" if running is None else _NO_END,
        summary=so_far.started.summary,
        preconditions=so_far.preconditions,
    )


def _node_being_put_back(node: str, so_far: _NodeSoFar, restoring: RestoreStarted, run: str) -> NodeReport:
    """Return the report of a node that was left in the middle of being put back."""
    told = [_step_report(step, so_far) for step in so_far.steps]
    failed = next((step for step in told if step.outcome is StepOutcome.FAILED), None)
    own = restoring.of == run
    paths = ", ".join(restoring.paths)
    return NodeReport(
        node=node,
        outcome=NodeOutcome.LOST,
        steps=tuple(_perhaps_put_back(step) for step in told),
        wave=None if so_far.started is None else so_far.started.wave,
        stopped_at=failed.id if failed is not None else None,
        reason=Reason.LOST,
        message=(f"`{failed.id}` failed, and " if failed is not None else "")
        + f"what run {restoring.of} wrote ({paths}) {_CUT_OFF}",
        remedy=f"`stackplan {'resume' if own else 'rollback'} {restoring.of}` puts it back to the end.",
        summary=None if so_far.started is None else so_far.started.summary,
        preconditions=so_far.preconditions,
    )


def _perhaps_put_back(step: StepReport) -> StepReport:
    """Return a step as it is known of a node that was being put back: one that wrote something may be undone."""
    wrote = step.outcome is StepOutcome.CHANGED and step.action is not None and step.action.writes
    if step.outcome is not StepOutcome.NOT_REACHED and not wrote:
        return step
    return replace(step, outcome=StepOutcome.UNKNOWN, message=f"it {_CUT_OFF}")


def _node_at_work(node: str, so_far: _NodeSoFar) -> NodeReport:
    """Return the report of a node of a run that goes on; its turn may be still to come."""
    running = so_far.running
    steps = [so_far.reports.get(step) or StepReport(id=step, outcome=StepOutcome.NOT_REACHED) for step in so_far.steps]
    if running is not None:
        since = f"runs since {running.time}"
        now = StepReport(id=running.step, outcome=StepOutcome.UNKNOWN, action=running.action, message=since)
        steps = [now if step.id == running.step else step for step in steps]
    message = "its turn is still to come" if so_far.started is None else "the run goes on here"
    if so_far.restoring is not None and running is None:
        message = f"what run {so_far.restoring.of} wrote is being put back"
    return NodeReport(
        node=node,
        outcome=NodeOutcome.PENDING,
        steps=tuple(steps),
        wave=None if so_far.started is None else so_far.started.wave,
        message=message,
        summary=None if so_far.started is None else so_far.started.summary,
        preconditions=so_far.preconditions,
    )


def _step_report(step: str, so_far: _NodeSoFar) -> StepReport:
    if so_far.running is not None and so_far.running.step == step:
        action = so_far.running.action
        return StepReport(id=step, outcome=StepOutcome.FAILED, reason=Reason.LOST, action=action, message=_NO_END)
    if (begun := so_far.open.get(step)) is not None:
        # Other steps were told of since: the journal is not whole.
        told = so_far.reports.get(step) or StepReport(id=step, outcome=StepOutcome.UNKNOWN)
        return replace(told, outcome=StepOutcome.UNKNOWN, action=begun.action, message=_UNTOLD)
    return so_far.reports.get(step) or StepReport(id=step, outcome=StepOutcome.NOT_REACHED)


def report_nodes(
    command: str, playbook: PlaybookIdentity, nodes: tuple[NodeReport, ...], variables: Mapping[str, str] | None = None
) -> Report:
    """Return the report of a command that executes nothing (plan, verify) from what it found on each node."""
    outcome = worst(node.outcome for node in nodes)
    return Report(command=command, outcome=outcome, playbook=playbook, nodes=nodes, variables=variables or {})
