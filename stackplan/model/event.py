"""What happens in a run, one record an occurrence, in the order in which it happened.

The engine only appends events; the journal, live progress and the report are folds over them.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import TypeAlias

from stackplan.model.frozen import dataclass
from stackplan.model.outcome import NodeOutcome, Reason
from stackplan.model.report import ActionReport, ConditionReport, NodeReport, PlaybookIdentity, StepReport


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """`host` is the controller's, `pid` its process there.

    `variables` are those that have one value on all nodes, secrets as `***`. `of` is the run that a rollback is of.
    """

    run: str
    command: str
    playbook: PlaybookIdentity
    nodes: tuple[str, ...]
    steps: tuple[str, ...]
    time: str
    operator: str
    host: str | None = None
    pid: int | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    of: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResumed:
    """Another controller, process `pid` on `host`, takes the run up again; its former end does not count any longer."""

    run: str
    nodes: tuple[str, ...]
    time: str
    operator: str
    host: str | None = None
    pid: int | None = None


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
    """Recorded (and on disk) before the action starts.

    `recollection` is what was known before a step's first attempt (engine.recollection), for a controller that takes
    the run up again; it was redacted before it was made. None for further attempts.
    """

    node: str
    step: str
    action: ActionReport
    time: str
    recollection: str | None = None


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
class Awaited:
    """Something that an earlier controller started still runs on the node, and is waited for; `what` names it."""

    node: str
    what: str
    time: str
    step: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreStarted:
    """Recorded (and on disk) before what the run `of` wrote to `paths` is put back."""

    node: str
    of: str
    paths: tuple[str, ...]
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
    """`stopped_at` are the steps at which nodes stopped, each once; `also_taken_back` later runs of which a rollback
    took back what they wrote to the same things.
    """

    run: str
    outcome: NodeOutcome
    time: str
    stopped_at: tuple[str, ...] = ()
    also_taken_back: tuple[str, ...] = ()


Event: TypeAlias = (
    RunStarted
    | RunResumed
    | NodeStarted
    | NodeProven
    | StepStarted
    | OutputSeen
    | ConnectionDropped
    | Reattached
    | Awaited
    | RestoreStarted
    | StepEnded
    | NodeEnded
    | RunEnded
)
