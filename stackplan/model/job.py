"""What an action has the node do, and how that ended."""

from collections.abc import Mapping
from dataclasses import field
from typing import TypeAlias

from stackplan.model.arguments import Value
from stackplan.model.frozen import dataclass
from stackplan.model.secret import Redactor, Text, shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A program to start, never through a shell unless `argv` names one.

    `environment` is laid over that of the login; `drop_environment` names variables, or prefixes that end in `*`, to
    take away first. `stdin` None closes the standard input. `display` is what people are shown; it may hold no secret.
    """

    argv: tuple[str, ...]
    display: str
    environment: Mapping[str, Text] = field(default_factory=dict)
    drop_environment: tuple[str, ...] = ()
    stdin: Text | None = None
    cwd: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A piece of the node program (`stackplan/node/tasks/<kind>.py`) to run like a command, with JSON arguments."""

    kind: str
    arguments: Mapping[str, Value]
    display: str


Stage: TypeAlias = Command | Task


@dataclass(frozen=True, slots=True)
class Job:
    """Stages that run one after the other under one supervisor; the first that does not exit 0 ends the job.

    A job without stages does nothing and has nothing to start (`checkpoint`). `ends_boot` is the id of the node's boot
    that the job is to end, None for all others; in another boot it is not started.
    """

    stages: tuple[Stage, ...]
    ends_boot: str | None = None

    @property
    def display(self) -> str:
        return "\n".join(shown(stage.display) for stage in self.stages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A job and all that it is started with. A job of a name is started once, however often it is asked for.

    `step` is the step that it belongs to, for display. Of the secrets that `redactor` knows nothing is kept on the node
    in what the job prints.
    """

    name: str
    job: Job
    user: str | None = None
    environment: Mapping[str, Text] = field(default_factory=dict)
    timeout_s: float = 1800.0
    redactor: Redactor = field(default_factory=Redactor)
    step: str | None = None


@dataclass(frozen=True, slots=True)
class Exited:
    """`left` names what it had started and what still ran when it was over: daemons, on purpose or not."""

    code: int
    left: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Signalled:
    """Ended by a signal that the program did not send itself (the kernel's out-of-memory killer, an operator)."""

    number: int


@dataclass(frozen=True, slots=True)
class TimedOut:
    after_s: float
    killed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Interrupted:
    """Ended on the node because the operator asked for it."""


@dataclass(frozen=True, slots=True)
class Lost:
    """How it ended is not known: the connection did not come back in time, or the supervisor died without a word.

    `broken`: somebody broke the lock of the run, and ended what ran under it.
    """

    why: str
    broken: bool = False


@dataclass(frozen=True, slots=True)
class NotStarted:
    """The node could not start it (no room for the spool, sudo refused); nothing ran."""

    why: str


@dataclass(frozen=True, slots=True)
class Rebooted:
    """The node was started anew since: boot `before` is over, it answers from boot `after`.

    How an action ends well that ends the boot; of any other it is not known how far it had come.
    """

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class NotRebooted:
    """The node still answers from the `boot` that the job was to end. `says` is what it tells who logs in meanwhile."""

    boot: str
    says: str | None = None


Ending: TypeAlias = Exited | Signalled | TimedOut | Interrupted | Lost | NotStarted | Rebooted | NotRebooted


@dataclass(frozen=True, slots=True)
class Absent:
    """The node has no record of it: it was never started."""


@dataclass(frozen=True, slots=True)
class Running:
    """Its supervisor lives; `age_s` None where the node does not know since when."""

    age_s: float | None


@dataclass(frozen=True, slots=True)
class Ended:
    ending: Ending


@dataclass(frozen=True, slots=True)
class Vanished:
    """It was started, and neither an ending nor a supervisor is there; `processes` of it may live on.

    `rebooted` where that comes from the node's having been started anew.
    """

    why: str
    processes: Mapping[int, str] = field(default_factory=dict)
    rebooted: Rebooted | None = None


Whereabouts: TypeAlias = Absent | Running | Ended | Vanished
"""What became of a job that may have been started."""
