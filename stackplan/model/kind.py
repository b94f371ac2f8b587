"""What every kind of condition and of action has to offer; `room` finds a kind by its word."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Self

from stackplan.model.arguments import Arguments
from stackplan.model.change import Change, State
from stackplan.model.concern import Concern, environments
from stackplan.model.condition import Condition, Recheck
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.facts import Answer, Facts, Query, Unknown
from stackplan.model.frozen import dataclass
from stackplan.model.job import Ending, Job
from stackplan.model.location import Location
from stackplan.model.outcome import Reason
from stackplan.model.playbook import Playbook
from stackplan.model.verdict import Verdict
from stackplan.model.written import Written


class ConditionKind(ABC):
    """A kind of condition: its arguments, what it asks, and the verdict; pure, it never looks at a node itself.

    `foreseeable` True: predictions tell everything that it rests on. False: it may rest on anything (a command does),
    so once an action has changed something, only a prediction that speaks of its own questions tells how it stands.
    `steady` False: what it sees may differ from one look to the next though nothing happened, so a saved plan rests on
    its verdict alone.
    """

    recheck: ClassVar[Recheck] = Recheck.ALWAYS
    foreseeable: ClassVar[bool] = False
    steady: ClassVar[bool] = True
    schema: ClassVar[Mapping[str, object] | None] = None

    @classmethod
    @abstractmethod
    def read(cls, arguments: Arguments) -> Self:
        """Return the condition. Raise Invalid, with a place, for arguments that make no sense together."""

    @abstractmethod
    def describe(self) -> str:
        """Return what it states, in one line without a full stop ("torch built for CUDA 13.0")."""

    @abstractmethod
    def queries(self) -> tuple[Query, ...]: ...

    @abstractmethod
    def evaluate(self, facts: Facts) -> Verdict: ...

    def state(self, facts: Facts) -> State:  # noqa: ARG002 - a default
        """Return what of the node's lasting state these facts show; what moves by itself (free space) is not in it."""
        return {}

    def headline(self, facts: Facts) -> str | None:  # noqa: ARG002 - a default
        """Return what these facts tell of the node for the line above its steps ("8 x H200"), or None."""
        return None

    def traits(self, facts: Facts) -> Mapping[str, str]:  # noqa: ARG002 - a default
        """Return what of these facts may set nodes apart, by a name that is the same on every node ("driver")."""
        return {}

    @property
    def alive_only(self) -> bool:
        """Whether all that it states is that something runs or answers: the same before a restart and after it."""
        return False

    def concerns(self) -> tuple[Concern, ...]:
        """Return what of the node it rests on, for the audit of a plan: the environments that it asks about."""
        return environments(query.arguments for query in self.queries())


@dataclass(frozen=True, slots=True, kw_only=True)
class Outstanding:
    """What of that which a step brings is not as it asks for it, by facts alone; to run it again brings it.

    `place` is where (an environment's real folder). `things` are names, each with words for what is wanted and found.
    """

    step: str
    place: str
    things: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that is known of an action that did not lead where it should; what a diagnosis is made from.

    `playbook` is the one that the action stands in, None where nobody asked for more than the action: no edit is to be
    proposed that stands there already. `outstanding` is what a `verify` finds lacking, of the steps up to this one.
    """

    step: str
    at: Location
    arguments: Arguments
    before: Facts
    after: Facts
    ending: Ending
    output: str
    reason: Reason
    changes: tuple[Change, ...] = ()
    unmet: tuple[Verdict, ...] = ()
    broken_step: str | None = None
    playbook: Playbook | None = None
    outstanding: tuple[Outstanding, ...] = ()


@dataclass(frozen=True, slots=True)
class CannotAct:
    """The facts do not allow the action to start; nothing ran. Becomes a stop with reason `precondition`."""

    summary: str
    remedy: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What a node would look like after an action, as far as that can be told without acting.

    `answers` are those that the node would give afterwards to questions that were asked already, Unknown where that
    cannot be told; a question that is left out is answered as before. They stand under the queries as `Facts.answers`
    holds them, users included. `details` are lines for people (a unified diff), fit to be shown. `failures`, when there
    are any, say why the action would not end well (a resolver's conflict): it then fails with reason `action`. `anew`
    True: it does once more what was done already (a restart); only conditions on other things tell when it is due.
    """

    changes: tuple[Change, ...]
    answers: Mapping[Query, Answer]
    details: tuple[str, ...] = ()
    failures: tuple[Diagnosis, ...] = ()
    anew: bool = False


class ActionKind(ABC):
    """A kind of action: its arguments, what it asks before and after, and the job that it gives the node; pure.

    `predicts` False: its effects are not declared (a script), so a plan can only say that it would run.
    `starts_services` True: what it leaves running is what it is for, and is no note of its step.
    """

    predicts: ClassVar[bool] = True
    starts_services: ClassVar[bool] = False
    schema: ClassVar[Mapping[str, object] | None] = None

    @classmethod
    @abstractmethod
    def read(cls, arguments: Arguments) -> Self:
        """Return the action. Raise Invalid, with a place, for arguments that make no sense together."""

    @abstractmethod
    def describe(self) -> str:
        """Return what it does, in one line ("install torch, torchvision into ~/ml-env")."""

    @abstractmethod
    def queries(self) -> tuple[Query, ...]:
        """Return what has to be known before the job can be written, and again afterwards to see what changed."""

    def reads(self) -> tuple[Query, ...]:
        """Return those of `queries()` that are about what it reads to know what to do (a file of requirements): as long
        as a step of unknown effect may still change an answer, nothing is foretold of the action.
        """
        return ()

    @abstractmethod
    def job(self, facts: Facts) -> Job | CannotAct:
        """Return what the node's supervisor has to run, from facts asked just before."""

    def state(self, facts: Facts) -> State:  # noqa: ARG002 - a default
        """Return the part of the node's state that this action can change."""
        return {}

    def forecast(self, facts: Facts) -> tuple[Query, ...]:  # noqa: ARG002 - a default
        """Return what has to be asked on top of `queries()` to predict: dry runs, from facts that may be predicted."""
        return ()

    def predict(self, facts: Facts) -> Prediction | Unknown:  # noqa: ARG002 - a default
        """Return what would change, from facts that hold the answers to `queries()` and `forecast()` and all others
        that were asked of the node; Unknown with the reason where that cannot be told.
        """
        return Unknown("its effects are not declared")

    def standing_lines(self, facts: Facts) -> tuple[str, ...]:  # noqa: ARG002 - a default
        """Return lines for people on what it would do to the node as it stands now, from the node's own answers: for a
        plan that cannot foretell what the node will be like by then. They begin with a line that says so.
        """
        return ()

    def reach(self, facts: Facts) -> frozenset[Query] | None:  # noqa: ARG002 - a default
        """Return the questions, as `facts.answers` holds them, whose answers the action can change at all; None: any.

        A plan holds to it where what the action does cannot be foretold.
        """
        return None

    def writes(self, facts: Facts) -> tuple[Written, ...]:  # noqa: ARG002 - a default
        """Return the lasting things that the job may write and that can be taken back; of each a snapshot is made
        before. Nothing for what cannot be taken back, such as what a script does.
        """
        return ()

    def new_boot_within_s(self) -> float | None:
        """Return within how many seconds the node has to answer from a new boot, for an action that ends the present
        one (its job names that in `ends_boot`); None for all others. It takes the place of the step's time limit.
        """
        return None

    def traits(self, facts: Facts) -> Mapping[str, str]:  # noqa: ARG002 - a default
        """Return what of these facts may set nodes apart, by a name that is the same on every node ("uv")."""
        return {}

    def concerns(self) -> tuple[Concern, ...]:
        """Return what of the node's environment it changes or rests on, for the audit of a plan."""
        return ()

    def implied(self) -> tuple[Condition, ...]:
        """Return postconditions that this kind brings along by itself."""
        return ()

    def notes(self, facts: Facts) -> tuple[Diagnosis, ...]:  # noqa: ARG002 - a default
        """Return what a reviewer of the plan should know of the node before this runs; none of it stops anything."""
        return ()

    def diagnose(self, evidence: Evidence) -> tuple[Diagnosis, ...]:  # noqa: ARG002 - a default
        """Return what can be said of a failure, most telling first; nothing rather than a guess."""
        return ()

    def diagnose_state(self, evidence: Evidence) -> tuple[Diagnosis, ...]:  # noqa: ARG002 - a default
        """Return what can be said of postconditions that a `verify` finds not to hold, by how the node is alone.

        Nothing was run: ending, output and changes say nothing, and not all that the action asks is among the facts.
        """
        return ()

    def outstanding(self, evidence: Evidence) -> Outstanding | None:  # noqa: ARG002 - a default
        """Return what another run of it would bring, where its postconditions do not hold; None where the facts do not
        tell that it would bring anything. As for `diagnose_state`, nothing was run.
        """
        return None
