"""From a playbook to bound steps: kinds found, arguments read, questions known. Pure; imports model only."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import field, fields, is_dataclass, replace
from typing import TypeAlias

from stackplan.engine.guard import guarded, trouble
from stackplan.engine.secret_fields import read
from stackplan.model.arguments import Arguments, Value, holds_secret
from stackplan.model.condition import Combination, Condition, Recheck
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.facts import Facts, Query, Unknown
from stackplan.model.frozen import dataclass
from stackplan.model.job import Job
from stackplan.model.kind import ActionKind, CannotAct, ConditionKind, Prediction
from stackplan.model.location import Location
from stackplan.model.playbook import Playbook, Step, StepId
from stackplan.model.room import ACTIONS, CONDITIONS
from stackplan.model.secret import Secret
from stackplan.model.written import Written

_SUDO = "sudo"
_FILE = "file"
_COST = (Recheck.ALWAYS, Recheck.FINAL, Recheck.NEVER)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundCondition:
    """A condition with its kind, or with its bound operands when it is a combination (then `kind` is None).

    `queries` are as `user` asks them; `recheck` is what holds, whoever stated it.
    """

    condition: Condition
    kind: ConditionKind | None
    operands: "tuple[BoundCondition, ...]"
    user: str | None
    recheck: Recheck
    queries: tuple[Query, ...]

    @property
    def kinds(self) -> tuple[ConditionKind, ...]:
        """The kinds that take part, those of operands included."""
        own = () if self.kind is None else (self.kind,)
        return own + tuple(kind for operand in self.operands for kind in operand.kinds)

    @property
    def patience_s(self) -> float:
        """How long it may take to come true: its own `within`, else the longest of its operands."""
        if self.condition.within_s is not None:
            return self.condition.within_s
        return max((operand.patience_s for operand in self.operands), default=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundStep:
    """A step whose `when` holds."""

    step: Step
    action: ActionKind
    action_queries: tuple[Query, ...]
    pre: tuple[BoundCondition, ...]
    post: tuple[BoundCondition, ...]
    playbook: Playbook = field(repr=False, compare=False)
    queries: tuple[Query, ...] = field(init=False, repr=False, compare=False)
    """What has to be known ahead of the action, each question once."""

    def __post_init__(self) -> None:
        queries = unique((*self.action_queries, *queries_of(self.pre), *queries_of(self.post)))
        object.__setattr__(self, "queries", queries)

    @property
    def id(self) -> StepId:
        return self.step.id

    @property
    def ends_boot(self) -> bool:
        """Whether the action is to end the node's boot."""
        return self.action.new_boot_within_s() is not None

    @property
    def time_limit_s(self) -> float:
        """For how long the action may take."""
        bound = self.action.new_boot_within_s()
        return self.step.timeout_s if bound is None else bound

    def write_job(self, facts: Facts) -> Job | CannotAct:
        """Return what the action has the node do; an action that cannot read the facts cannot act."""
        return guarded(
            lambda: self.action.job(facts.seen_by(self.step.user)),
            lambda error: CannotAct(trouble(self.step.action.kind, error)),
        )

    def forecasts(self, facts: Facts) -> tuple[Query, ...]:
        """Return what has to be asked to predict the action from `facts`; nothing where it cannot act on them."""
        if isinstance(self.write_job(facts), CannotAct):
            return ()
        found = guarded(lambda: self.action.forecast(facts.seen_by(self.step.user)), lambda _: ())
        return unique([query.asked_by(self.step.user) for query in found])

    def predict(self, facts: Facts) -> Prediction | Unknown:
        """Return what the action would change; an action that cannot read the facts cannot tell."""
        return guarded(
            lambda: self.action.predict(facts.seen_by(self.step.user)),
            lambda error: Unknown(trouble(self.step.action.kind, error)),
        )

    def standing_lines(self, facts: Facts) -> tuple[str, ...]:
        """Return lines on what the action would do to the node as it stands now; nothing where it cannot tell."""
        return guarded(lambda: self.action.standing_lines(facts.seen_by(self.step.user)), lambda _: ())

    def reach(self, facts: Facts) -> frozenset[Query] | None:
        """Return the questions whose answers the action can change, whatever it does; None where that is any."""
        return guarded(lambda: self.action.reach(facts.seen_by(self.step.user)), lambda _: None)

    def writes(self, facts: Facts) -> tuple[Written, ...]:
        """Return what the action may write and what can be taken back, as the step's user writes it."""
        user = self.step.user
        found = guarded(lambda: self.action.writes(facts.seen_by(user)), lambda _: ())
        return tuple(replace(it, user=user) for it in found)

    def notes(self, facts: Facts) -> tuple[Diagnosis, ...]:
        """Return what the action has to say of the node ahead of its run; none of it stops anything."""
        found = guarded(lambda: self.action.notes(facts.seen_by(self.step.user)), lambda _: ())
        return tuple(note.in_step(self.step.id) for note in found)


@dataclass(frozen=True, slots=True)
class SkippedStep:
    """A step whose `when` does not hold on this node: nothing of it is asked or run."""

    step: Step

    @property
    def id(self) -> StepId:
        return self.step.id


AnyStep: TypeAlias = BoundStep | SkippedStep


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundPlaybook:
    """The playbook of one node. `preconditions` include the right to act as each user that a step names."""

    playbook: Playbook
    preconditions: tuple[BoundCondition, ...]
    steps: tuple[AnyStep, ...]

    @property
    def bound_steps(self) -> tuple[BoundStep, ...]:
        return tuple(step for step in self.steps if isinstance(step, BoundStep))

    @property
    def queries(self) -> tuple[Query, ...]:
        """Everything that the playbook can want to know of a node, each question once."""
        steps = (query for step in self.bound_steps for query in step.queries)
        return unique((*queries_of(self.preconditions), *steps))


def unique(queries: Collection[Query]) -> tuple[Query, ...]:
    return tuple(dict.fromkeys(queries))


def queries_of(conditions: Collection[BoundCondition]) -> tuple[Query, ...]:
    """Return what the conditions ask, each question once, in their order."""
    return unique([query for condition in conditions for query in condition.queries])


def bind(playbook: Playbook) -> BoundPlaybook:
    """Return the playbook of one node, rendered already, with every kind found and every argument read.

    Steps whose `when` does not hold stay in the order but are not read. Raise Invalid with everything that is wrong in
    any step.
    """
    wrong: list[Diagnosis] = []
    secret = _secret_paths(playbook)
    preconditions = _bind_all(_aware(playbook.preconditions, secret), None, wrong)
    steps: list[AnyStep] = []
    for step in playbook.steps:
        if step.skipped:
            steps.append(SkippedStep(step))
        elif (bound := _bind_step(step, playbook, secret, wrong)) is not None:
            steps.append(bound)
    rights = _bind_all(tuple(_rights(playbook)), None, wrong)
    if wrong:
        raise Invalid(wrong)
    return BoundPlaybook(playbook=playbook, preconditions=rights + preconditions, steps=tuple(steps))


def faults(playbook: Playbook, ready: Callable[[Arguments], bool]) -> tuple[Diagnosis, ...]:
    """Return what kinds find wrong with their arguments in a playbook that is not rendered, or only in part, so far as
    it can be told: only those arguments are read that are `ready`, in which nothing is left to be filled in.
    """
    wrong: list[Diagnosis] = []
    _read_leaves(playbook.preconditions, ready, wrong)
    for step in playbook.steps:
        if step.skipped:
            continue
        _read_leaves((*step.preconditions, *step.postconditions), ready, wrong)
        if ready(step.action.arguments):
            _read_action(step, wrong)
    return tuple(wrong)


def _read_leaves(conditions: tuple[Condition, ...], ready: Callable[[Arguments], bool], wrong: list[Diagnosis]) -> None:
    """Read the arguments of those conditions that are `ready`; what is wrong with them goes to `wrong`."""
    for condition in _leaves(conditions):
        if ready(condition.arguments):
            try:
                _read_condition(condition)
            except Invalid as error:
                wrong.extend(error.diagnoses)


def _leaves(conditions: tuple[Condition, ...]) -> Iterator[Condition]:
    for condition in conditions:
        if condition.combination is None:
            yield condition
        else:
            yield from _leaves(condition.operands)


def _rights(playbook: Playbook) -> Iterator[Condition]:
    """Yield one precondition a user that a step acts as: the right to do so, proven before anything runs."""
    users: set[str] = set()
    for step in playbook.steps:
        if step.user is not None and not step.skipped and step.user not in users:
            users.add(step.user)
            yield Condition(kind=_SUDO, arguments=Arguments({"user": step.user}, step.at), at=step.at)


def _secret_paths(playbook: Playbook) -> frozenset[str]:
    """Return the files, as they are written, to which a step writes a secret.

    A script that holds one may write it to any file, and so may what runs after it: then these are all files that
    conditions name, but for those to which a step writes something else.
    """
    steps = [step for step in playbook.steps if not step.skipped]
    written = [step.action.arguments.values for step in steps]
    paths = {_path(it) for it in written if isinstance(it.get("content"), Secret)}
    if any(_writes_unforeseen_secrets(step) for step in steps):
        stated = (playbook.preconditions, *((*step.preconditions, *step.postconditions) for step in steps))
        named = {_path(it.arguments.values) for each in stated for it in _leaves(each) if it.kind == _FILE}
        paths |= named - {_path(it) for it in written}
    return frozenset(path for path in paths if path is not None)


def _path(values: Mapping[str, Value]) -> str | None:
    path = values.get("path")
    return path if isinstance(path, str) else None


def _writes_unforeseen_secrets(step: Step) -> bool:
    kind = ACTIONS.find(step.action.kind)
    unforeseen = kind is not None and issubclass(kind, ActionKind) and not kind.predicts
    return unforeseen and (holds_secret(step.action.arguments.values) or holds_secret(step.environment))


def _aware(conditions: tuple[Condition, ...], secret: frozenset[str]) -> tuple[Condition, ...]:
    """Return the conditions, told which files hold a secret: nothing by which it could be tried out is to be kept."""
    if not secret:
        return conditions
    return tuple(
        replace(it, arguments=replace(it.arguments, secret_paths=secret), operands=_aware(it.operands, secret))
        for it in conditions
    )


def _bind_step(step: Step, playbook: Playbook, secret: frozenset[str], wrong: list[Diagnosis]) -> BoundStep | None:
    pre = _bind_all(_aware(step.preconditions, secret), step.user, wrong)
    post = _bind_all(_aware(step.postconditions, secret), step.user, wrong)
    action = _read_action(step, wrong, secret)
    if action is None:
        return None
    implied = _bind_all(_aware(action.implied(), secret), step.user, wrong)
    stated = tuple(kind for bound in post for kind in _stated(bound))
    return BoundStep(
        step=step,
        action=action,
        action_queries=unique([query.asked_by(step.user) for query in action.queries()]),
        pre=pre,
        post=post + tuple(it for it in implied if not any(_covers(kind, it.kind) for kind in stated)),
        playbook=playbook,
    )


def _stated(condition: BoundCondition) -> Iterator[ConditionKind]:
    """Yield what a condition states for certain: its kind, or all operands of an `all`."""
    if condition.kind is not None:
        yield condition.kind
    elif condition.condition.combination is Combination.ALL:
        for operand in condition.operands:
            yield from _stated(operand)


def _covers(stated: object, implied: object) -> bool:
    """Return whether a kind implies nothing beyond what is stated: each argument that it has is the same there."""
    if type(stated) is not type(implied) or not is_dataclass(implied):
        return stated == implied
    arguments = [(getattr(implied, it.name), getattr(stated, it.name)) for it in fields(implied)]
    return all(ours is None or ours == theirs for ours, theirs in arguments)


def _read_action(step: Step, wrong: list[Diagnosis], secret: frozenset[str] = frozenset()) -> ActionKind | None:
    found = ACTIONS.find(step.action.kind)
    if found is None or not issubclass(found, ActionKind):
        wrong.append(_no_kind("action", step.action.kind, ACTIONS.words(), step.action.at).in_step(step.id))
        return None
    try:
        given = step.action.arguments
        return read(found, Arguments(given.values, given.at, given.places, step.environment, secret))
    except Invalid as error:
        wrong.extend(diagnosis.in_step(step.id) for diagnosis in error.diagnoses)
        return None


def _bind_all(
    conditions: tuple[Condition, ...], user: str | None, wrong: list[Diagnosis]
) -> tuple[BoundCondition, ...]:
    """Return those of `conditions` that can be bound; what is wrong with the others goes to `wrong`."""
    found = []
    for condition in conditions:
        try:
            found.append(bind_condition(condition, user))
        except Invalid as error:
            wrong.extend(error.diagnoses)
    return tuple(found)


def bind_condition(condition: Condition, user: str | None) -> BoundCondition:
    """Return one condition, as `user` states it, with its kind or its operands. Raise Invalid."""
    if condition.combination is not None:
        return _bind_combination(condition, user)
    kind = _read_condition(condition)
    return BoundCondition(
        condition=condition,
        kind=kind,
        operands=(),
        user=user,
        recheck=condition.recheck or kind.recheck,
        queries=unique([query.asked_by(user) for query in kind.queries()]),
    )


def _read_condition(condition: Condition) -> ConditionKind:
    """Return the kind of a condition that is no combination, its arguments read. Raise Invalid."""
    found = CONDITIONS.find(condition.kind)
    if found is None or not issubclass(found, ConditionKind):
        raise Invalid([_no_kind("condition", condition.kind, CONDITIONS.words(), condition.at)])
    return read(found, condition.arguments)


def _bind_combination(condition: Condition, user: str | None) -> BoundCondition:
    """Bind the operands; the combination is rechecked as seldom as its costliest operand, unless it says otherwise."""
    wrong: list[Diagnosis] = []
    operands = _bind_all(condition.operands, user, wrong)
    if not condition.operands or (condition.combination is Combination.NOT and len(condition.operands) != 1):
        expected = "one condition" if condition.combination is Combination.NOT else "at least one condition"
        wrong.append(
            Diagnosis(
                summary=f"`{condition.kind}` does not combine {len(condition.operands)} conditions",
                expected=expected,
                observed=str(len(condition.operands)),
                at=condition.at,
            )
        )
    if wrong:
        raise Invalid(wrong)
    costliest = max((operand.recheck for operand in operands), key=_COST.index)
    return BoundCondition(
        condition=condition,
        kind=None,
        operands=operands,
        user=user,
        recheck=condition.recheck or costliest,
        queries=queries_of(operands),
    )


def _no_kind(family: str, word: str, words: tuple[str, ...], at: Location) -> Diagnosis:
    return Diagnosis(
        summary=f"there is no {family} `{word}`",
        expected=f"one of {', '.join(words)}",
        observed=word,
        at=at,
        remedy="correct the word, or install the package that brings this kind",
    )
