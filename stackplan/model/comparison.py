"""What a change to a playbook means: the typed form of the JSON comparison (schemas/comparison.v1.json).

Every text in it is fit to be shown: a secret is never read for a comparison, so none can be in it.
"""

import enum

from stackplan.model.frozen import dataclass
from stackplan.model.location import Location
from stackplan.model.outcome import NodeOutcome, Phase
from stackplan.model.report import StepReport


class Effect(enum.Enum):
    """What a change does to what is proven: less than before, perhaps less (a reviewer has to judge), more, neither."""

    WEAKER = "weaker"
    NOTE = "note"
    STRONGER = "stronger"
    OTHER = "other"

    @property
    def opposite(self) -> "Effect":
        """The effect under a `not`, where a statement that grows weaker makes the whole stronger."""
        return {Effect.WEAKER: Effect.STRONGER, Effect.STRONGER: Effect.WEAKER}.get(self, self)


class Turn(enum.Enum):
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """One argument or setting; `before` None where it was not written, `after` None where it is no longer.

    `why` says in a few words what the change does, and is None where the two values say it all. `at` is the place in
    the new playbook, in the old one where it was dropped.
    """

    path: str
    before: str | None
    after: str | None
    effect: Effect = Effect.OTHER
    why: str | None = None
    at: Location | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionChange:
    """One condition of a step, or of the playbook; `before` and `after` state it in one line."""

    turn: Turn
    phase: Phase
    kind: str
    before: str | None = None
    after: str | None = None
    effect: Effect = Effect.OTHER
    why: str | None = None
    fields: tuple[FieldChange, ...] = ()
    at: Location | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """After which step it stood and stands; None is the beginning. `effect` and `why` say what that does to proofs."""

    before: str | None
    after: str | None
    effect: Effect = Effect.OTHER
    why: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandChange:
    """What the action does, as a command line or script where it can be told without a node, else in words."""

    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepChange:
    """One step; `was` is its former id where it was given another one."""

    id: str
    turn: Turn
    kind: str
    was: str | None = None
    moved: Move | None = None
    command: CommandChange | None = None
    fields: tuple[FieldChange, ...] = ()
    conditions: tuple[ConditionChange, ...] = ()
    at: Location | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VariableChange:
    """A variable of the playbook; `used_by` are the steps, and `preconditions`, whose texts it goes into."""

    name: str
    before: str | None
    after: str | None
    used_by: tuple[str, ...] = ()
    at: Location | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Weakening:
    """One thing that is proven less than before (or, as a NOTE, that may be), for the loud section.

    `step` None belongs to the whole playbook. `subject` is the condition or setting, `what` the sentence about it.
    """

    effect: Effect
    step: str | None
    subject: str
    what: str
    before: str | None = None
    after: str | None = None
    at: Location | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOutlook:
    """One step of one node, as planned from the old and the new playbook; None where it is not in one of them."""

    id: str
    before: StepReport | None
    after: StepReport | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOutlook:
    """What the change means for one recorded node; no `steps` where it means nothing. None: not a node of that side."""

    node: str
    before: NodeOutcome | None
    after: NodeOutcome | None
    message: str | None = None
    steps: tuple[StepOutlook, ...] = ()

    @property
    def differs(self) -> bool:
        return bool(self.steps) or self.before is not self.after


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two that are compared: `label` as it was named, `sha256` None where there is no such playbook."""

    label: str
    path: str
    revision: str | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """`nodes` None where no recorded facts were given."""

    name: str
    old: Side
    new: Side
    weakened: tuple[Weakening, ...] = ()
    settings: tuple[FieldChange, ...] = ()
    preconditions: tuple[ConditionChange, ...] = ()
    steps: tuple[StepChange, ...] = ()
    variables: tuple[VariableChange, ...] = ()
    nodes: tuple[NodeOutlook, ...] | None = None

    @property
    def differs(self) -> bool:
        """Whether there is any difference between what the two playbooks say or, as planned, do."""
        parts = (self.settings, self.preconditions, self.steps, self.variables)
        return any(parts) or any(node.differs for node in self.nodes or ())
