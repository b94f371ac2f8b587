"""Conditions at an outlook: how they will stand, how that is reported, which of them a step would break. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from stackplan.engine.bind import BoundCondition, BoundStep, queries_of
from stackplan.engine.outlook import Outlook
from stackplan.engine.prove import Proof, condition_report, describe, evaluate
from stackplan.engine.same_statement import same_statement
from stackplan.model.facts import Answer, Facts, Query
from stackplan.model.frozen import dataclass
from stackplan.model.kind import Prediction
from stackplan.model.outcome import Phase
from stackplan.model.report import Broken, ConditionReport
from stackplan.model.verdict import Status, held, unknown


@dataclass(frozen=True, slots=True)
class Breach:
    """What a step would, or might, break: an earlier step, and those of its conditions that it is about."""

    step: str
    proofs: tuple[Proof, ...]

    def report(self) -> Broken:
        told = tuple(condition_report(Phase.POST, proof, Status.HELD) for proof in self.proofs)
        return Broken(step=self.step, conditions=told)


def proofs_at_turn(conditions: Collection[BoundCondition], outlook: Outlook) -> tuple[Proof, ...]:
    """Return how conditions stand at a step's turn. What holds is taken to go on holding; that something does not
    hold is said only of what is not stale.
    """
    return tuple(
        outlook.prove_surely([proof.condition])[0] if proof.verdict.status is Status.NOT_HELD else proof
        for proof in outlook.prove(conditions)
    )


def warranted(proof: Proof, earlier: Sequence[BoundStep], quiet_from: int, facts: Facts) -> Proof:
    """Return a proof that is held where it is not foretold, but one of the steps `earlier` states the very same.

    A step has its turn only once those have proven what they state. What is asked again after each step holds then, and
    so does all that was proven since the last one that may act, the one at `quiet_from`. `facts` tell by then which
    environments are one.
    """
    if proof.verdict.status is not Status.UNKNOWN:
        return proof
    for number, step in enumerate(earlier):
        for stated in step.post:
            if (number >= quiet_from or stated.recheck.after_each_step) and same_statement(
                stated, proof.condition, facts
            ):
                return Proof(proof.condition, held(proof.verdict.text, evidence=f"`{step.id}` proves it before"))
    return proof


def unmet(proofs: Collection[Proof]) -> tuple[Proof, ...]:
    return tuple(proof for proof in proofs if not proof.verdict.held)


def certain(proofs: Collection[Proof]) -> bool:
    """Return whether one of these is known not to hold and has no time to come true."""
    return any(it.verdict.status is Status.NOT_HELD and not it.condition.patience_s for it in proofs)


def left_open(proof: Proof, why: str) -> Proof:
    """Return a proof of which the outcome is not known."""
    return Proof(proof.condition, unknown(proof.verdict.text, why=why, expected=proof.verdict.expected))


def overcast(proof: Proof, outlook: Outlook, clouded: Mapping[Query, Answer]) -> Proof:
    """Return how a condition stands if the `clouded` answers are not known; what is unknown anyway keeps its reason."""
    if not clouded or proof.verdict.status is Status.UNKNOWN:
        return proof
    verdict = evaluate(proof.condition, outlook.facts.foreseen(clouded))
    if verdict.status is Status.UNKNOWN and verdict.expected is None:
        verdict = replace(verdict, expected=proof.verdict.expected)
    return Proof(proof.condition, verdict)


def breach(earlier: Collection[BoundStep], before: Outlook, after: Outlook, prediction: Prediction) -> Breach | None:
    """Return the first earlier step of which something that is asked again after each step would no longer hold."""
    for step in earlier:
        if culprits := no_longer(_moved(step, prediction), before, after):
            return Breach(step.id, culprits)
    return None


def endangered(
    earlier: Collection[BoundStep], step: BoundStep, before: Outlook, after: Outlook, prediction: Prediction
) -> tuple[Breach, ...]:
    """Return what of earlier steps holds before and cannot be told after; what `step` asks of itself is not in it."""
    own = queries_of(step.post)
    found = []
    for other in earlier:
        moved = [condition for condition in _moved(other, prediction) if not set(condition.queries) <= {*own}]
        holding = [proof.condition for proof in before.prove(moved) if proof.verdict.held]
        if open_ := tuple(it for it in after.prove(holding) if it.verdict.status is Status.UNKNOWN):
            found.append(Breach(other.id, open_))
    return tuple(found)


def _moved(step: BoundStep, prediction: Prediction) -> list[BoundCondition]:
    """Return the conditions that are asked again after each step and that a prediction speaks of."""
    return [
        condition
        for condition in step.post
        if condition.recheck.after_each_step and any(query in prediction.answers for query in condition.queries)
    ]


def no_longer(conditions: Collection[BoundCondition], before: Outlook, after: Outlook) -> tuple[Proof, ...]:
    """Return proofs of those conditions that hold before and are known not to hold after."""
    holding = [proof.condition for proof in before.prove(conditions) if proof.verdict.held]
    return tuple(proof for proof in after.prove(holding) if proof.verdict.status is Status.NOT_HELD)


def reports(
    phase: Phase,
    conditions: Collection[BoundCondition],
    outlook: Outlook,
    foretold: Collection[Proof] | None,
) -> tuple[ConditionReport, ...]:
    """Return how conditions stand now and, unless that is None, how they are foretold to stand."""
    now = outlook.prove_now(conditions)
    if foretold is None:
        return tuple(condition_report(phase, proof) for proof in now)
    return tuple(_foretold(condition_report(phase, proof), then) for proof, then in zip(now, foretold, strict=True))


def _foretold(report: ConditionReport, then: Proof) -> ConditionReport:
    verdict = then.verdict
    why = verdict.why
    if why is not None and verdict.text not in (report.text, describe(then.condition)):
        # Only a part of what is stated is not known: which one is half the answer.
        why = f"{verdict.text} ({why})"
    return replace(
        report,
        predicted=verdict.status,
        predicted_expected=verdict.expected,
        predicted_observed=verdict.observed,
        predicted_why=why,
    )
