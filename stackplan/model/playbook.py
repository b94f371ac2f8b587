"""A playbook: ordered steps for some nodes."""

import enum
from collections.abc import Mapping
from dataclasses import field
from typing import NewType

from stackplan.model.arguments import Arguments, Path, Value
from stackplan.model.condition import Condition
from stackplan.model.frozen import dataclass
from stackplan.model.location import Location
from stackplan.model.secret import Text

StepId = NewType("StepId", str)


class OnFailure(enum.Enum):
    STOP = "stop"
    ROLLBACK = "rollback"


@dataclass(frozen=True, slots=True)
class Action:
    """What a step does: a kind and the arguments that its kind will read."""

    kind: str
    arguments: Arguments
    at: Location


@dataclass(frozen=True, slots=True)
class Retries:
    """How often an action that failed or timed out is run again, and after how many seconds."""

    times: int = 0
    delay_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One action with its pre- and postconditions.

    `places` tells where `name`, `why`, `user` and each part of `env` stand. `user` None acts as the user of the
    connection; `become: true` without a user is read as user `root`. `when` is the
    text of a Jinja expression; `skipped` is set by rendering where it does not hold for the node, and such a step's
    texts are still as written.
    """

    id: StepId
    at: Location
    action: Action
    postconditions: tuple[Condition, ...]
    name: str | None = None
    why: str | None = None
    when: str | None = None
    when_at: Location | None = None
    preconditions: tuple[Condition, ...] = ()
    timeout_s: float = 1800.0
    retries: Retries = Retries()
    environment: Mapping[str, Text]
    user: str | None = None
    become: bool = False
    always: bool = False
    on_failure: OnFailure = OnFailure.STOP
    interruptible: bool = True
    skipped: bool = False
    places: Mapping[Path, Location] = field(default_factory=dict, repr=False, compare=False)

    def place(self, *path: str | int) -> Location:
        """Return where the part at `path` stands, or where the step begins."""
        return self.places.get(path, self.at)


@dataclass(frozen=True, slots=True)
class Share:
    """A number of nodes, given as a count or as a percentage of all that were selected."""

    count: int | None = None
    percent: float | None = None

    def of(self, total: int) -> int:
        """Return how many of `total` nodes that is, at least one."""
        if self.count is not None:
            return max(1, self.count)
        return max(1, int(total * (self.percent or 100.0) / 100.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """In which order nodes are taken: first `canary`, then waves of `batch`; stops at failure `max_failures` + 1."""

    canary: Share | None = None
    batch: Share | None = None
    max_failures: int = 0


@dataclass(frozen=True, slots=True)
class SecretSource:
    """Where a secret variable is read from at the last moment: exactly one of the three is given."""

    at: Location
    env: str | None = None
    file: str | None = None
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable as written; `value` may hold templates. `origin` says who set it, for `plan`'s "which won"."""

    name: str
    value: "Value | SecretSource"
    at: Location
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Playbook:
    """`sha256` is the digest of all files that were read for it; `path` is as people name it, relative where it can be.

    `sources` holds the lines of those files, for carets in messages; `places` tells where each of `nodes` stands.
    `selected_by` are the options that select the same nodes and variables once more (" -l gpu-01"), None where that is
    not known; for display only.
    """

    name: str
    path: str
    sha256: str
    nodes: tuple[str, ...]
    steps: tuple[Step, ...]
    description: str | None = None
    variables: Mapping[str, Variable]
    preconditions: tuple[Condition, ...] = ()
    rollout: Rollout = Rollout()
    revision: str | None = None
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    places: tuple[Location, ...] = field(default=(), repr=False, compare=False)
    selected_by: str | None = field(default=None, repr=False, compare=False)
