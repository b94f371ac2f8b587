"""What is known of a plan or a run: the typed form of the JSON report (schemas/report.v1.json).

Every text in it is fit to be shown: secrets were replaced before they came here.
"""

from collections.abc import Mapping
from dataclasses import field

from stackplan.model.change import Change
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.frozen import dataclass
from stackplan.model.location import Location
from stackplan.model.outcome import NodeOutcome, Phase, Reason, StepOutcome
from stackplan.model.verdict import Status
from stackplan.model.written import Written


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionReport:
    """`before` is the status ahead of the action, None where the condition was not asked then.

    `predicted` is, in a plan, how it will stand: a postcondition after the step, a precondition at its turn; None where
    the step would not be reached. The `predicted_…` texts are of that verdict.
    """

    phase: Phase
    kind: str
    text: str
    status: Status
    before: Status | None = None
    expected: str | None = None
    observed: str | None = None
    evidence: str | None = None
    why: str | None = None
    name: str | None = None
    message: str | None = None
    at: Location | None = None
    predicted: Status | None = None
    predicted_expected: str | None = None
    predicted_observed: str | None = None
    predicted_why: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionReport:
    """`exit_code` None: not run, or ended otherwise (`ending` says how). `output_tail` is what it printed last.

    `writes` is what can be taken back of what it may write.
    """

    kind: str
    command: str | None = None
    exit_code: int | None = None
    ending: str | None = None
    output_tail: str | None = None
    attempts: int = 0
    writes: tuple[Written, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """The earlier step that a regression broke, and those of its conditions that no longer hold."""

    step: str
    conditions: tuple[ConditionReport, ...]


ROLLED_BACK_TO = "rolled back: "
"""How the message of a node begins that a step stopped and that was put back, proven, by `on_failure: rollback`."""
NOTHING_TO_ROLL_BACK = "nothing to roll back: "
"""How it begins where the run had written nothing that can be taken back."""
NOT_TAKEN_BACK = "is not taken back"
"""What the message of a step has of which a rollback leaves in place what it did."""
NOT_REACHED_FOR = "not reached: "
"""How the message of a planned step begins that an earlier one is foretold to stop; its outcome is `unknown`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReport:
    """`predicted` is what the plan expects of the action, None where it cannot tell; `details` are lines of it for
    people (a unified diff).
    """

    id: str
    outcome: StepOutcome
    at: Location | None = None
    name: str | None = None
    why: str | None = None
    reason: Reason | None = None
    duration_s: float | None = None
    action: ActionReport | None = None
    predicted: tuple[Change, ...] | None = None
    details: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    conditions: tuple[ConditionReport, ...] = ()
    diagnoses: tuple[Diagnosis, ...] = ()
    broke: Broken | None = None
    message: str | None = None

    @property
    def unreached(self) -> bool:
        """Whether an earlier step stopped the node, or is foretold to."""
        foretold = self.outcome is StepOutcome.UNKNOWN and (self.message or "").startswith(NOT_REACHED_FOR)
        return foretold or self.outcome is StepOutcome.NOT_REACHED

    @property
    def left_in_place(self) -> bool:
        """Whether a rollback leaves what it did as it is; a step that had changed nothing leaves nothing."""
        return self.outcome is StepOutcome.SKIPPED and NOT_TAKEN_BACK in (self.message or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReport:
    """`summary` is the node's headline ("8 x H200, driver 580.95.05"), None when nothing is known.

    `stopped_at` is a step's id, or None when the node's own preconditions or the connection stopped it; `message` and
    `remedy` then say what happened. `traits` is what may set it apart from other nodes ("driver": "580.95.05").
    `also_taken_back` are later runs, of which a rollback takes back what they wrote to the same things.
    """

    node: str
    outcome: NodeOutcome
    steps: tuple[StepReport, ...] = ()
    wave: int | None = None
    stopped_at: str | None = None
    reason: Reason | None = None
    summary: str | None = None
    message: str | None = None
    remedy: str | None = None
    preconditions: tuple[ConditionReport, ...] = ()
    diagnoses: tuple[Diagnosis, ...] = ()
    traits: Mapping[str, str] = field(default_factory=dict)
    also_taken_back: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaybookIdentity:
    name: str
    path: str
    sha256: str
    revision: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """`command` is plan, apply, verify, rollback or show; `run` None where nothing was executed.

    `outcome` is the worst of the nodes' outcomes, in the words of NodeOutcome. `variable_origins` says who set those of
    the `variables` that are not the playbook's own, `variables_overridden` what the playbook itself sets these to.
    """

    command: str
    outcome: NodeOutcome
    playbook: PlaybookIdentity
    nodes: tuple[NodeReport, ...] = ()
    run: str | None = None
    started: str | None = None
    ended: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    variable_origins: Mapping[str, str] = field(default_factory=dict)
    variables_overridden: Mapping[str, str] = field(default_factory=dict)
    diagnoses: tuple[Diagnosis, ...] = ()
