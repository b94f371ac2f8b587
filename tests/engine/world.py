"""A node that is a dictionary, and kinds that read and write it: what the engine's tests run on.

A session that was not told how a job ends, or that is asked what it does not know, raises: silence is never an answer.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from stackplan.connection.failure import ConnectionFailure
from stackplan.connection.holders import Holders
from stackplan.connection.lock_owner import LockOwner
from stackplan.engine.bind import BoundPlaybook, bind
from stackplan.engine.journal import Journal
from stackplan.engine.perform import Run
from stackplan.engine.recorder import Recorder
from stackplan.engine.rollout import RollOut
from stackplan.engine.stop import Level, Stop
from stackplan.engine.target import Target
from stackplan.model.arguments import Arguments, Value
from stackplan.model.change import Change, Held, State
from stackplan.model.condition import Combination, Condition, Recheck
from stackplan.model.diagnosis import Diagnosis, Severity
from stackplan.model.event import Event, RunStarted
from stackplan.model.facts import Answer, Facts, Known, Origin, Query, Unknown
from stackplan.model.job import Absent, Command, Ended, Ending, Exited, Job, Whereabouts
from stackplan.model.kind import ActionKind, CannotAct, ConditionKind, Evidence, Prediction
from stackplan.model.location import Location
from stackplan.model.node import Node, NodeName
from stackplan.model.playbook import Action, Playbook, Retries, Rollout, Step, StepId
from stackplan.model.report import PlaybookIdentity, Report
from stackplan.model.secret import Redactor
from stackplan.model.verdict import Verdict, held, not_held, unknown

AT = Location("playbook.yaml", 1, 1)


def at(line: int) -> Location:
    return Location("playbook.yaml", line, 9)


def value_query(name: str) -> Query:
    return Query("value", {"name": name})


@dataclass(frozen=True, slots=True)
class Is(ConditionKind):
    """`name` is `value` on the node; `lasting` false leaves it out of the node's state, as a `command` would."""

    foreseeable: ClassVar[bool] = True

    name: str
    value: str
    lasting: bool = True

    @classmethod
    def read(cls, arguments: Arguments) -> "Is":
        return cls(arguments.text("name"), arguments.text("value"), arguments.flag("lasting", default=True))

    def describe(self) -> str:
        return f"{self.name} is {self.value}"

    def queries(self) -> tuple[Query, ...]:
        return (value_query(self.name),)

    def evaluate(self, facts: Facts) -> Verdict:
        answer = facts[value_query(self.name)]
        if not isinstance(answer, Known):
            return unknown(self.describe(), why=answer.why)
        if answer.value == "nonsense":
            raise KeyError("version")
        observed = str(answer.value)
        if observed == self.value:
            return held(self.describe(), observed=observed)
        return not_held(self.describe(), expected=self.value, observed=observed)

    def state(self, facts: Facts) -> State:
        return _state(self.name, facts) if self.lasting else {}

    def headline(self, facts: Facts) -> str | None:
        return f"{self.name} node" if self.name == "gpu" else None

    def traits(self, facts: Facts) -> Mapping[str, str]:
        answer = facts[value_query(self.name)]
        return {self.name: str(answer.value)} if isinstance(answer, Known) else {}


@dataclass(frozen=True, slots=True)
class CostlyIs(Is):
    """As `is`, asked at the end alone; it has words of its own for what it sees."""

    recheck: ClassVar[Recheck] = Recheck.FINAL

    def state(self, facts: Facts) -> State:
        return {key: Held(f"costly {held.text}", held.fingerprint) for key, held in Is.state(self, facts).items()}


@dataclass(frozen=True, slots=True)
class OpenIs(Is):
    """As `is`, but it may rest on anything, as a `command` does."""

    foreseeable: ClassVar[bool] = False

    def queries(self) -> tuple[Query, ...]:
        return (open_query(self.name),)

    def evaluate(self, facts: Facts) -> Verdict:
        return Is.evaluate(self, replace(facts, answers={value_query(self.name): facts[open_query(self.name)]}))

    def state(self, facts: Facts) -> State:
        return {}

    def traits(self, facts: Facts) -> Mapping[str, str]:
        return {}


@dataclass(frozen=True, slots=True)
class MaySudo(ConditionKind):
    user: str
    recheck: ClassVar[Recheck] = Recheck.NEVER

    @classmethod
    def read(cls, arguments: Arguments) -> "MaySudo":
        return cls(arguments.text("user"))

    def describe(self) -> str:
        return f"may act as {self.user}"

    def queries(self) -> tuple[Query, ...]:
        return (Query("may", {"user": self.user}),)

    def evaluate(self, facts: Facts) -> Verdict:
        answer = facts[Query("may", {"user": self.user})]
        if isinstance(answer, Known) and answer.value is True:
            return held(self.describe())
        return not_held(self.describe(), expected="sudo -n works", observed="it does not")


@dataclass(frozen=True, slots=True)
class Set(ActionKind):
    """Sets `name`; what the node does with the command line `set NAME` is the test's to say."""

    name: str
    refused: bool = False

    @classmethod
    def read(cls, arguments: Arguments) -> "Set":
        return cls(arguments.text("name"), arguments.flag("refused", default=False))

    def describe(self) -> str:
        return f"set {self.name}"

    def queries(self) -> tuple[Query, ...]:
        return (value_query(self.name),)

    def job(self, facts: Facts) -> Job | CannotAct:
        assert value_query(self.name) in facts.answers
        if self.refused:
            return CannotAct(f"{self.name} cannot be set", "create it first")
        return Job((Command(argv=("set", self.name), display=f"set {self.name}"),))

    def state(self, facts: Facts) -> State:
        return _state(self.name, facts)

    def notes(self, facts: Facts) -> tuple[Diagnosis, ...]:
        stale = facts[value_query(self.name)] == Known("stale")
        return (Diagnosis(summary=f"{self.name} is stale", severity=Severity.NOTE),) if stale else ()

    def diagnose(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        summary = f"{evidence.reason.value}: {len(evidence.unmet)} unmet, broke {evidence.broken_step}"
        return (Diagnosis(summary=summary, code="SP299", at=evidence.at),)


@dataclass(frozen=True, slots=True)
class Install(Set):
    """Sets what a dry run of it, asked in the world that its predecessors are foretold to leave, says that it sets.

    The dry run is the query `dry` and answers {name: value}, or {"error": why}; a world that was not told of it raises.
    """

    def forecast(self, facts: Facts) -> tuple[Query, ...]:
        return (dry_query(self.name, facts),)

    def predict(self, facts: Facts) -> Prediction | Unknown:
        answer = facts[dry_query(self.name, facts)]
        if not isinstance(answer, Known):
            return Unknown("there was no dry run")
        if "error" in answer.value:
            failures = (Diagnosis(summary=answer.value["error"], code="SP298"),)
            return Prediction(changes=(), answers={}, failures=failures)
        answers = {value_query(name): Known(value) for name, value in answer.value.items()}
        moved = {query: told for query, told in answers.items() if facts.answers.get(query) != told}
        changes = [_change(query, facts, told) for query, told in moved.items()]
        return Prediction(changes=tuple(sorted(changes)), answers=moved, details=(f"dry run of {self.name}",))


def open_query(name: str) -> Query:
    return Query("open", {"name": name})


def dry_query(name: str, facts: Facts) -> Query:
    """Return the dry run of `name`; it carries what is foretold of the values so far."""
    foretold = facts.origin is Origin.PREDICTED
    values = {query.arguments["name"]: answer.value for query, answer in facts.answers.items()
              if query.kind == "value" and isinstance(answer, Known)}  # fmt: skip
    return Query("dry", {"name": name, "carried": values if foretold else None})


def _change(query: Query, facts: Facts, told: Known) -> Change:
    before = facts.answers.get(query)
    old = str(before.value) if isinstance(before, Known) and before.value is not None else None
    return Change("value", str(query.arguments["name"]), old, str(told.value))


@dataclass(frozen=True, slots=True)
class Script(ActionKind):
    """Runs `set NAME` too, but declares nothing of what it changes."""

    name: str
    predicts: ClassVar[bool] = False

    @classmethod
    def read(cls, arguments: Arguments) -> "Script":
        return cls(arguments.text("name"))

    def describe(self) -> str:
        return "run a script"

    def queries(self) -> tuple[Query, ...]:
        return ()

    def job(self, facts: Facts) -> Job:
        return Job((Command(argv=("set", self.name), display=f"set {self.name}"),))


@dataclass(frozen=True, slots=True)
class Look(ActionKind):
    """Does nothing, like `checkpoint`."""

    @classmethod
    def read(cls, arguments: Arguments) -> "Look":
        return cls()

    def describe(self) -> str:
        return "look"

    def queries(self) -> tuple[Query, ...]:
        return ()

    def job(self, facts: Facts) -> Job:
        return Job(())

    def predict(self, facts: Facts) -> Prediction:
        return Prediction(changes=(), answers={})


@dataclass(frozen=True, slots=True)
class Careful(Set):
    """Brings a postcondition along, and falls over when it has to diagnose."""

    def implied(self) -> tuple[Condition, ...]:
        return (condition("is", 1, name=self.name, value="new"),)

    def diagnose(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        raise RuntimeError("no idea")


def _state(name: str, facts: Facts) -> State:
    answer = facts[value_query(name)]
    return {("value", name): Held(str(answer.value))} if isinstance(answer, Known) and answer.value is not None else {}


CONDITION_KINDS = {"is": Is, "costly_is": CostlyIs, "open_is": OpenIs, "sudo": MaySudo}
ACTION_KINDS = {"set": Set, "install": Install, "script": Script, "look": Look, "careful": Careful}


def condition(kind: str, line: int = 1, /, *, within_s=None, recheck=None, message=None, **values: Value) -> Condition:
    arguments = Arguments(values, at(line))
    return Condition(kind=kind, arguments=arguments, at=at(line), within_s=within_s, recheck=recheck, message=message)


def combined(word: str, *operands: Condition) -> Condition:
    return Condition(kind=word, arguments=Arguments({}, AT), at=AT, combination=Combination(word), operands=operands)


def step(
    name: str,
    *,
    action: str | None = "set",
    value: str = "new",
    post: Collection[Condition] | None = None,
    pre: Collection[Condition] = (),
    retries: int = 0,
    user: str | None = None,
    always: bool = False,
    **arguments: Value,
) -> Step:
    """A step that sets the value `name` to `value` and wants it to be so."""
    values: Mapping[str, Value] = {} if action == "look" else {"name": name, **arguments}
    return Step(
        id=StepId(name),
        at=AT,
        action=Action(action or "set", Arguments(values, at(2)), at(2)),
        postconditions=tuple([condition("is", 3, name=name, value=value)] if post is None else post),
        preconditions=tuple(pre),
        environment={},
        retries=Retries(retries, 1.0),
        user=user,
        always=always,
    )


def playbook(*steps: Step, preconditions: Collection[Condition] = (), rollout: Rollout | None = None) -> Playbook:
    return Playbook(
        name="story",
        path="playbook.yaml",
        sha256="0" * 64,
        nodes=("all",),
        steps=steps,
        variables={},
        preconditions=tuple(preconditions),
        rollout=rollout or Rollout(),
    )


def bound(*steps: Step, **rest) -> BoundPlaybook:
    return bind(playbook(*steps, **rest))


def target(name: str, book: BoundPlaybook) -> Target:
    return Target(Node(name=NodeName(name)), book)


class FakeClock:
    """Time that goes on only when somebody waits."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> str:
        return f"2026-12-01T03:10:22.{int(self.seconds * 1000) % 1000:03d}Z"

    def monotonic(self) -> float:
        return self.seconds


class FakeStop(Stop):
    """A wish to stop whose waiting moves the clock instead of taking time."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self.clock = clock
        self.waited: list[float] = []

    def wait(self, seconds: float, until: Level = Level.FINISH) -> bool:
        self.waited.append(seconds)
        self.clock.seconds += seconds
        return super().wait(0.0, until)


@dataclass
class World:
    """What is on a node, and what its commands do: `commands` by name, each may change `values` and says how it ended.

    It outlives connections. `starts` counts how often each job was started.
    """

    values: dict[str, object]
    commands: dict[str, Callable[["World"], Ending]] = field(default_factory=dict)
    starts: dict[str, int] = field(default_factory=dict)
    endings: dict[str, Ending] = field(default_factory=dict)
    prints: bytes = b""
    may: bool = True
    asked: list[tuple[Query, ...]] = field(default_factory=list)
    dry: dict[str, Callable[[Mapping[str, object]], object]] = field(default_factory=dict)
    history: list[Mapping[str, object]] | None = field(default_factory=list)
    found: dict[str, Whereabouts] = field(default_factory=dict)
    holders: Holders = field(default_factory=lambda: Holders(held=False))

    def answer(self, query: Query) -> Answer:
        if query.kind == "may":
            return Known(self.may)
        if query.kind == "dry":
            values = query.arguments["carried"] or self.values
            return Known(self.dry[query.arguments["name"]](values))
        name = query.arguments["name"]
        value = self.values[name]
        return value if isinstance(value, Unknown) else Known(value)


def sets(value: object = "new", **others: object) -> Callable[[str], Callable[[World], Ending]]:
    """A command that sets its own name to `value` and others to theirs, and exits 0."""

    def command(name: str) -> Callable[[World], Ending]:
        def run(world: World) -> Ending:
            world.values.update({name: value, **others})
            return Exited(0)

        return run

    return command


class FakeSession:
    """A session with a `World`. `fault` is called ahead of each request with its word, and may raise."""

    def __init__(self, world: World, fault: Callable[[str], None] = lambda word: None) -> None:
        self.world = world
        self.fault = fault
        self.closed = False
        self.terminated: list[str] = []
        self.owner: LockOwner | None = None

    def ask(self, queries):
        self.fault("ask")
        self.world.asked.append(tuple(queries))
        return {query: self.world.answer(query) for query in queries}

    def start(self, work):
        self.fault("start")
        (stage,) = work.job.stages
        word = stage.argv[1]
        if work.name not in self.world.starts:
            self.world.starts[work.name] = 1
            self.world.endings[work.name] = self.world.commands[word](self.world)
        self.fault("started")
        return object()

    def watch(self, name, on_output, *, patience_s=None):
        self.fault("watch")
        on_output(self.world.prints)
        self.fault("watching")
        return self.world.endings[name]

    def terminate(self, name, grace_s):
        self.fault("terminate")
        self.terminated.append(name)

    def find(self, name):
        self.fault("find")
        if name in self.world.found:
            return self.world.found[name]
        return Ended(self.world.endings[name]) if name in self.world.endings else Absent()

    def lock(self, owner, began=None, *, again=False):
        self.fault("lock")
        self.owner = owner
        return None if began is None else self._write(began)

    def holders(self):
        self.fault("holders")
        return self.world.holders

    def record(self, entry):
        self.fault("record")
        return self._write(entry)

    def _write(self, entry):
        if self.world.history is None:
            return "the disk is full"
        self.world.history.append(entry)
        return None

    def close(self):
        self.closed = True


@dataclass
class Stage:
    """A run over fake nodes: whom it connects to, what it recorded."""

    worlds: dict[str, World]
    clock: FakeClock
    stop: FakeStop
    redactor: Redactor = field(default_factory=Redactor)
    faults: dict[str, Callable[[str], None]] = field(default_factory=dict)
    sessions: list[FakeSession] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    refusals: dict[str, list[ConnectionFailure]] = field(default_factory=dict)
    parallel: int = 1
    journal: Journal | None = None
    on_event: Callable[[Event], None] = lambda event: None

    def connect(self, node: Node) -> FakeSession:
        if waiting := self.refusals.get(node.name):
            raise waiting.pop(0)
        session = FakeSession(self.worlds[node.name], self.faults.get(node.name, lambda word: None))
        self.sessions.append(session)
        return session

    def play(self, book: BoundPlaybook, planned: Report | None = None) -> Report:
        """Roll the playbook out over all nodes and return the report."""
        targets = [target(name, book) for name in self.worlds]

        def on_event(event: Event) -> None:
            self.events.append(event)
            self.on_event(event)

        recorder = Recorder(self.redactor, self.journal, on_event)
        names = tuple(self.worlds)
        identity = PlaybookIdentity(name="story", path="playbook.yaml", sha256="0" * 64)
        begun = RunStarted(
            run="R",
            command="apply",
            playbook=identity,
            nodes=names,
            steps=targets[0].steps,
            time=self.clock.now(),
            operator="ops",
        )
        recorder.record(begun)
        run = Run(id="R", recorder=recorder, clock=self.clock, stop=self.stop)
        owner = LockOwner(run="R", operator="ops", host="here", playbook="story", time=self.clock.now())
        roll_out = RollOut(run, self.connect, owner, parallel=self.parallel, planned=planned)
        roll_out.roll_out(targets, book.playbook.rollout)
        return recorder.report()
