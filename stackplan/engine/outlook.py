"""What a node is going to look like while a plan goes through its steps. Pure; imports model only."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import field, replace
from functools import partial
from typing import TypeVar

from stackplan.engine.bind import BoundCondition, BoundPlaybook, BoundStep
from stackplan.engine.memo import Memo, Source
from stackplan.engine.prove import Proof, evaluate, prove
from stackplan.model.facts import Answer, Facts, Query, Unknown, laid
from stackplan.model.frozen import dataclass
from stackplan.model.kind import Prediction

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """`now` are the answers that a node gave, `foretold` those that predictions lay over them.

    `open_questions` are those whose answers may rest on anything, `stale` those of them that no prediction speaks of
    since something changed by an action within whose reach they are; `changed_by` is the step that changed something
    last. What is worked out on the way is kept in `memo`.
    """

    now: Facts
    open_questions: frozenset[Query]
    foretold: Mapping[Query, Answer] = field(default_factory=dict)
    stale: frozenset[Query] = frozenset()
    changed_by: str | None = None
    memo: Memo = field(default_factory=Memo, compare=False, repr=False)
    _facts: Facts | None = field(init=False, default=None, compare=False, repr=False)

    @property
    def facts(self) -> Facts:
        """How the node will look."""
        if self._facts is not None:
            return self._facts
        found = self.now.foreseen(self.foretold) if self.changed_by is not None or self.foretold else self.now
        object.__setattr__(self, "_facts", found)
        return found

    def prove(self, conditions: Collection[BoundCondition]) -> tuple[Proof, ...]:
        """Return how conditions will stand, as `facts` tell it."""
        return self._prove(conditions, self.facts)

    def prove_now(self, conditions: Collection[BoundCondition]) -> tuple[Proof, ...]:
        """Return how conditions stand by the node's own answers."""
        return self._prove(conditions, self.now)

    def _prove(self, conditions: Collection[BoundCondition], facts: Facts) -> tuple[Proof, ...]:
        return tuple(Proof(it, self._recall("verdict", it, facts, partial(evaluate, it))) for it in conditions)

    def predict(self, step: BoundStep) -> Prediction | Unknown:
        """Return what the action of a step would change. What it foretells alike of several nodes they share."""

        def work(facts: Facts) -> Prediction | Unknown:
            found = step.predict(facts)
            if isinstance(found, Unknown):
                return found
            return replace(found, answers={query: self.memo.one(answer) for query, answer in found.answers.items()})

        return self.recall("predict", step, work)

    def recall(self, word: str, about: object, work: Callable[[Facts], T]) -> T:
        """Return what `work` makes of how the node will look; nodes of which it sees the same share it."""
        return self._recall(word, about, self.facts, work)

    def recall_now(self, word: str, about: object, work: Callable[[Facts], T]) -> T:
        """Return what `work` makes of the node's own answers; nodes of which it sees the same share it."""
        return self._recall(word, about, self.now, work)

    def _recall(self, word: str, about: object, facts: Facts, work: Callable[[Facts], T]) -> T:
        sources = (facts.answers,)
        return self.memo.recall(word, about, sources, lambda seen: work(replace(facts, answers=seen)), facts.origin)

    def recall_turn(self, word: str, about: object, work: "Callable[[Outlook], T]", *besides: object) -> T:
        """Return what `work` makes of the outlook itself; nodes of which it sees the same share it."""

        def watched(now: Source, foretold: Source) -> T:
            return work(replace(self, now=replace(self.now, answers=now), foretold=foretold))

        sources = (self.now.answers, self.foretold)
        return self.memo.recall(word, about, sources, watched, self.stale, self.changed_by, *besides)

    def prove_surely(self, conditions: Collection[BoundCondition]) -> tuple[Proof, ...]:
        """Return how conditions will stand, those unknown that rest on what may have gone stale."""
        if not any(query in self.stale for condition in conditions for query in condition.queries):
            return self.prove(conditions)
        return prove(conditions, self.sure)

    @property
    def sure(self) -> Facts:
        """Return the facts without the answers that may have gone stale: those are unknown."""
        if not self.stale:
            return self.facts
        why = Unknown(f"only once `{self.changed_by}` has run can it be told")
        return self.facts.foreseen(dict.fromkeys(self.stale, why))

    def learnt(self, answers: Mapping[Query, Answer]) -> "Outlook":
        """Return the outlook with answers to questions that were not asked before."""
        return replace(self, now=replace(self.now, answers=laid(self.now.answers, answers)))

    def after(self, step: BoundStep, prediction: Prediction) -> "Outlook":
        """Return the outlook once the action of `step` has done what is foretold of it."""
        if not prediction.changes and not prediction.answers:
            return self
        foretold = laid(self.foretold, prediction.answers)
        if not prediction.changes:
            return replace(self, foretold=foretold)
        reach = self.recall("reach", step, step.reach)
        touched = self.open_questions if reach is None else self.open_questions & reach
        stale = (self.stale | touched).difference(prediction.answers)
        return replace(self, foretold=foretold, stale=stale, changed_by=step.id)

    def moves(self, condition: BoundCondition) -> bool:
        """Return whether a condition may stand otherwise than the node's own answers say."""
        return any(query in self.foretold or query in self.stale for query in condition.queries)


def begin(facts: Facts, playbook: BoundPlaybook, memo: Memo) -> Outlook:
    """Return the outlook before the first step: everything is as the node says."""
    return Outlook(now=facts, open_questions=memo.recall("open", playbook, (), partial(_open, playbook)), memo=memo)


def _open(playbook: BoundPlaybook) -> frozenset[Query]:
    """Return the questions whose answers may rest on anything that a step does."""
    stated = (*playbook.preconditions, *(it for step in playbook.bound_steps for it in (*step.pre, *step.post)))
    leaves = [leaf for condition in stated for leaf in _leaves(condition)]
    closed = {query for leaf in leaves if _foreseeable(leaf) for query in leaf.queries}
    closed.update(query for step in playbook.bound_steps for query in step.action_queries)
    anything = {query for leaf in leaves if not _foreseeable(leaf) for query in leaf.queries}
    return frozenset(anything - closed)


def _leaves(condition: BoundCondition) -> Iterator[BoundCondition]:
    if condition.kind is not None:
        yield condition
    for operand in condition.operands:
        yield from _leaves(operand)


def _foreseeable(condition: BoundCondition) -> bool:
    return condition.kind is not None and condition.kind.foreseeable
