"""What a node is going to look like while a plan goes through its steps. Pure; imports model only."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from stackplan.engine.bind import BoundCondition, BoundPlaybook
from stackplan.engine.prove import Proof, Verdicts, prove
from stackplan.model.facts import Answer, Facts, Origin, Query, Unknown
from stackplan.model.kind import Prediction


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """`now` are the answers that a node gave; `facts` the same with all that predictions foretell laid over them.

    `open_questions` are those whose answers may rest on anything, `stale` those of them that no prediction speaks of
    since something changed; `changed_by` is the step that changed something last. `foretold` are the questions whose
    answers in `facts` are not the node's own.
    """

    now: Facts
    facts: Facts
    open_questions: frozenset[Query]
    stale: frozenset[Query] = frozenset()
    changed_by: str | None = None
    foretold: frozenset[Query] = frozenset()
    verdicts: Verdicts = field(default_factory=Verdicts, compare=False, repr=False)

    def prove(self, conditions: Collection[BoundCondition]) -> tuple[Proof, ...]:
        """Return how conditions will stand, as `facts` tell it."""
        return self.verdicts.prove(conditions, self.facts)

    def prove_now(self, conditions: Collection[BoundCondition]) -> tuple[Proof, ...]:
        """Return how conditions stand by the node's own answers."""
        return self.verdicts.prove(conditions, self.now)

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
        return replace(self.facts, answers={**self.facts.answers, **dict.fromkeys(self.stale, why)})

    def learnt(self, answers: Mapping[Query, Answer]) -> "Outlook":
        """Return the outlook with answers to questions that were not asked before."""
        now, facts = self.now, self.facts
        return replace(
            self,
            now=replace(now, answers={**now.answers, **answers}),
            facts=replace(facts, answers={**answers, **facts.answers}),
        )

    def after(self, step: str, prediction: Prediction) -> "Outlook":
        """Return the outlook once the action of `step` has done what is foretold of it."""
        if not prediction.changes and not prediction.answers:
            return self
        answers = {**self.facts.answers, **prediction.answers}
        return replace(
            self,
            facts=replace(self.facts, origin=Origin.PREDICTED, answers=answers),
            stale=self.open_questions - prediction.answers.keys() if prediction.changes else self.stale,
            changed_by=step if prediction.changes else self.changed_by,
            foretold=self.foretold | prediction.answers.keys(),
        )

    def moves(self, condition: BoundCondition) -> bool:
        """Return whether a condition may stand otherwise than the node's own answers say."""
        return any(query in self.foretold or query in self.stale for query in condition.queries)


def begin(facts: Facts, playbook: BoundPlaybook) -> Outlook:
    """Return the outlook before the first step: everything is as the node says."""
    stated = (*playbook.preconditions, *(it for step in playbook.bound_steps for it in (*step.pre, *step.post)))
    leaves = [leaf for condition in stated for leaf in _leaves(condition)]
    closed = {query for leaf in leaves if _foreseeable(leaf) for query in leaf.queries}
    closed.update(query for step in playbook.bound_steps for query in step.action_queries)
    anything = {query for leaf in leaves if not _foreseeable(leaf) for query in leaf.queries}
    return Outlook(now=facts, facts=facts, open_questions=frozenset(anything - closed))


def _leaves(condition: BoundCondition) -> Iterator[BoundCondition]:
    if condition.kind is not None:
        yield condition
    for operand in condition.operands:
        yield from _leaves(operand)


def _foreseeable(condition: BoundCondition) -> bool:
    return condition.kind is not None and condition.kind.foreseeable
