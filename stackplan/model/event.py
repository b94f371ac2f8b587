"""What happens in a run, one record an occurrence, in the order in which it happened.

The engine only appends events; the journal, live progress and the report are folds over them.
"""

from dataclasses import dataclass
from typing import TypeAlias

from stackplan.model.outcome import NodeOutcome, Reason
from stackplan.model.report import ActionReport, ConditionReport, NodeReport, PlaybookIdentity, StepReport


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    run: str
    command: str
    playbook: PlaybookIdentity
    nodes: tuple[str, ...]
    steps: tuple[str, ...]
    time: str
    operator: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStarted:
    node: str
    wave: int
    steps: tuple[str, ...]
    time: str
    summary: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeProven:
    """The playbook's own preconditions were asked on the node."""

    node: str
    preconditions: tuple[ConditionReport, ...]
    time: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStarted:
    """Recorded (and on disk) before the action starts."""

    node: str
    step: str
    action: ActionReport
    time: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSeen:
    node: str
    step: str
    text: str
    time: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionDropped:
    node: str
    step: str | None
    why: str
    time: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reattached:
    node: str
    step: str | None
    time: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEnded:
    node: str
    step: StepReport
    time: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEnded:
    """`report` has no steps: those were told one by one."""

    node: str
    outcome: NodeOutcome
    report: NodeReport
    time: str
    stopped_at: str | None = None
    reason: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded:
    run: str
    outcome: NodeOutcome
    time: str


Event: TypeAlias = (
    RunStarted
    | NodeStarted
    | NodeProven
    | StepStarted
    | OutputSeen
    | ConnectionDropped
    | Reattached
    | StepEnded
    | NodeEnded
    | RunEnded
)
