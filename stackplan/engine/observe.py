"""What changed between two batches of facts, as far as those who looked could see. Pure; imports model only."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from stackplan.engine.bind import BoundCondition, BoundStep, queries_of
from stackplan.engine.guard import guarded
from stackplan.model.change import Change, State, differences
from stackplan.model.facts import Answer, Facts, Known, Query
from stackplan.model.frozen import dataclass
from stackplan.model.kind import ActionKind, ConditionKind


@dataclass(frozen=True, slots=True)
class Witness:
    """One who tells a part of the node's state from facts: an action or a condition, as the step's user sees it."""

    kind: ActionKind | ConditionKind
    user: str | None


@dataclass(frozen=True, slots=True)
class Observation:
    """`changes` seen by all witnesses together, sorted; `complete` when the action itself told its part both times."""

    changes: tuple[Change, ...]
    complete: bool


class Noting(Mapping[Query, Answer]):
    """Answers that note which were used: nothing follows from a state read off one that is not Known."""

    def __init__(self, answers: Mapping[Query, Answer]) -> None:
        self._answers = answers
        self.used: set[Query] = set()

    def __getitem__(self, query: Query) -> Answer:
        answer = self._answers[query]
        self.used.add(query)
        return answer

    @property
    def not_known(self) -> set[Query]:
        """The questions that were used and have no Known answer."""
        return {query for query in self.used if not isinstance(self._answers[query], Known)}

    def __iter__(self) -> Iterator[Query]:
        return iter(self._answers)

    def __len__(self) -> int:
        return len(self._answers)


def witnesses(step: BoundStep, earlier: Collection[BoundCondition]) -> tuple[Witness, ...]:
    """Return all who look on while a step acts: its action, its conditions, and what earlier steps have proven."""
    seen = (*step.pre, *step.post, *earlier)
    looking = tuple(Witness(kind, condition.user) for condition in seen for kind in condition.kinds)
    return (Witness(step.action, step.step.user), *looking)


def observe(step: BoundStep, earlier: Collection[BoundCondition], before: Facts, after: Facts) -> Observation:
    """Return what differs. Who could not read a part before or after says nothing of it, rather than "removed".

    Of one thing that several witnesses saw change the first one's words count, the action's before all others.
    """
    action, *others = witnesses(step, earlier)
    told = _compare(action, before, after)
    changes = {(change.kind, change.name): change for change in told or ()}
    for witness in others:
        for change in _compare(witness, before, after) or ():
            changes.setdefault((change.kind, change.name), change)
    return Observation(tuple(changes[key] for key in sorted(changes)), complete=told is not None)


def answers_differ(conditions: Collection[BoundCondition], before: Facts, after: Facts) -> bool:
    """Return whether anything that the conditions asked is answered otherwise than before."""
    queries = queries_of(conditions)
    return any(before.answers.get(query) != after.answers.get(query) for query in queries)


def _compare(witness: Witness, before: Facts, after: Facts) -> tuple[Change, ...] | None:
    """Return what a witness sees changed, or None when it does not look or could not read its part both times."""
    old, new = look(witness, before), look(witness, after)
    return None if old is None or new is None else differences(old, new)


def look(witness: Witness, facts: Facts) -> State | None:
    """Return the state that a witness tells, or None when it does not look or could not read its part."""
    answers = Noting(facts.answers)
    watched = replace(facts, answers=answers, user=witness.user)
    state = guarded(lambda: witness.kind.state(watched), lambda _: None)
    return state if answers.used and not answers.not_known else None
