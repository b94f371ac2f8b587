"""What an earlier controller of a run left behind in the journal: for each node, how far each step had come. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import field

from stackplan.model.event import Event, NodeEnded, NodeStarted, OutputSeen, StepEnded, StepStarted
from stackplan.model.frozen import dataclass
from stackplan.model.outcome import NodeOutcome, Reason, StepOutcome
from stackplan.model.report import ActionReport, StepReport

# Ends that do not say how the action ended: the node may know more by now.
_NOT_KNOWN = frozenset({Reason.LOST, Reason.INTERRUPTED})
_PROVEN = frozenset({StepOutcome.SATISFIED, StepOutcome.CHANGED})


@dataclass(slots=True)
class PastStep:
    """A step that had its turn. `attempt` is the last one that was started, 0 where none was, `first` the first since
    the step's end was known for the last time.

    `open`: how the last attempt ended is not known here. `told` counts the characters of its output that are in the
    journal, `started` is when it was announced. `report` is the last word that was told of the step.
    """

    attempt: int = 0
    first: int = 0
    open: bool = False
    told: int = 0
    started: str | None = None
    action: ActionReport | None = None
    recollection: str | None = None
    report: StepReport | None = None

    @property
    def changed(self) -> bool:
        """Whether the run has carried the step out already, and proven it."""
        return self.report is not None and self.report.outcome is StepOutcome.CHANGED


@dataclass(slots=True)
class PastNode:
    """`outcome` None: the node was not brought to an end. `failed` is the step that has stopped it since it last ended:
    what is to follow that failure may not have been done yet.
    """

    outcome: NodeOutcome | None = None
    failed: str | None = None
    steps: dict[str, PastStep] = field(default_factory=dict)

    @property
    def finished(self) -> bool:
        return self.outcome is NodeOutcome.OK

    def proven(self, step: str) -> bool:
        """Return whether the last word on a step is that it was proven."""
        found = self.steps.get(step)
        return found is not None and found.report is not None and found.report.outcome in _PROVEN

    def reports(self) -> dict[str, StepReport]:
        return {name: step.report for name, step in self.steps.items() if step.report is not None}


def pasts(events: Iterable[Event]) -> Mapping[str, PastNode]:
    """Return what the events tell of each node that was taken."""
    found: dict[str, PastNode] = {}
    for event in events:
        match event:
            case NodeStarted(node=name):
                found.setdefault(name, PastNode()).outcome = None
            case NodeEnded(node=name):
                ended = found.setdefault(name, PastNode())
                ended.outcome, ended.failed = event.outcome, None
            case StepStarted() | OutputSeen():
                _take(_step(found, event.node, event.step), event)
                if isinstance(event, StepStarted):
                    found[event.node].failed = None
            case StepEnded():
                _take(_step(found, event.node, event.step.id), event)
                _note_failure(found[event.node], event.step)
            case _:
                pass
    return found


def _step(found: dict[str, PastNode], node: str, step: str) -> PastStep:
    return found.setdefault(node, PastNode()).steps.setdefault(step, PastStep())


def _note_failure(node: PastNode, report: StepReport) -> None:
    if report.outcome is StepOutcome.FAILED and report.reason not in _NOT_KNOWN:
        # Of several that no longer hold at the end the first one stops the node.
        node.failed = node.failed or report.id
    elif node.failed == report.id:
        node.failed = None


def _take(step: PastStep, event: StepStarted | OutputSeen | StepEnded) -> None:
    match event:
        case StepStarted():
            if not step.open:
                step.first, step.recollection = event.action.attempts, None
            # An attempt that never came to start is announced again, with what is known by then.
            step.recollection = event.recollection or step.recollection
            step.open = True
            step.attempt, step.action, step.started = event.action.attempts, event.action, event.time
            step.told = 0
        case OutputSeen():
            step.told += len(event.text)
        case StepEnded():
            step.report = event.step
            step.open = step.open and event.step.reason in _NOT_KNOWN
