"""Bound conditions against facts: verdicts, how they combine, their form in a report. Pure; imports model only."""

from collections.abc import Collection, Mapping

from stackplan.engine.bind import BoundCondition
from stackplan.engine.guard import guarded, trouble
from stackplan.model.condition import Combination
from stackplan.model.facts import Answer, Facts, Query, Unknown
from stackplan.model.frozen import dataclass
from stackplan.model.outcome import Phase
from stackplan.model.report import ConditionReport
from stackplan.model.verdict import Status, Verdict, conjunction, held, not_held, unknown

_NO_ANSWER = Unknown("the node gave no answer to this question")


@dataclass(frozen=True, slots=True)
class Proof:
    """A condition and the verdict on it."""

    condition: BoundCondition
    verdict: Verdict


def answered(queries: Collection[Query], answers: Mapping[Query, Answer]) -> dict[Query, Answer]:
    """Return one answer for each of `queries`: what a node left out is Unknown, never absent."""
    return {query: answers.get(query, _NO_ANSWER) for query in queries}


def prove(conditions: Collection[BoundCondition], facts: Facts) -> tuple[Proof, ...]:
    """Return the verdict on each condition, in order. `facts` must hold an answer to each of their queries."""
    return tuple(Proof(condition, evaluate(condition, facts)) for condition in conditions)


def summed(proofs: Collection[Proof]) -> Status:
    """Return HELD when all are held, else NOT_HELD when one is not held, else UNKNOWN."""
    found = {proof.verdict.status for proof in proofs}
    return next((status for status in (Status.NOT_HELD, Status.UNKNOWN) if status in found), Status.HELD)


def evaluate(condition: BoundCondition, facts: Facts) -> Verdict:
    """Return the verdict on a condition or combination; a kind that cannot make sense of the answers is unknown."""
    if condition.kind is not None:
        return _evaluate_kind(condition, facts)
    parts = tuple(evaluate(operand, facts) for operand in condition.operands)
    match condition.condition.combination:
        case Combination.NOT:
            return negation(parts[0])
        case Combination.ANY:
            return disjunction(parts)
        case _:
            return conjunction(describe(condition), parts)


def _evaluate_kind(condition: BoundCondition, facts: Facts) -> Verdict:
    kind = condition.kind
    assert kind is not None
    return guarded(
        lambda: kind.evaluate(facts.seen_by(condition.user)),
        lambda error: unknown(describe(condition), why=trouble(condition.condition.kind, error)),
    )


def describe(condition: BoundCondition) -> str:
    """Return what a condition states, in one line."""
    if condition.kind is not None:
        return guarded(condition.kind.describe, lambda _: condition.condition.kind)
    texts = tuple(describe(operand) for operand in condition.operands)
    match condition.condition.combination:
        case Combination.NOT:
            return f"not: {texts[0]}"
        case Combination.ANY:
            return " or ".join(texts)
        case _:
            return " and ".join(texts)


def negation(part: Verdict) -> Verdict:
    """Return the verdict on `not: part`; what is unknown stays unknown."""
    text = f"not: {part.text}"
    match part.status:
        case Status.HELD:
            return not_held(text, expected=text, observed=part.observed or "it holds", evidence=part.evidence)
        case Status.NOT_HELD:
            return held(text, observed=part.observed, evidence=part.evidence)
        case _:
            return unknown(text, why=part.why or "it is not known", expected=text)


def disjunction(parts: tuple[Verdict, ...]) -> Verdict:
    """Return the verdict on `any: parts`: held by the first that is; unknown as long as one could still be held."""
    if proven := next((part for part in parts if part.held), None):
        return proven
    text = " or ".join(part.text for part in parts)
    expected = "; or ".join(part.expected or part.text for part in parts)
    if doubts := [part.why for part in parts if part.status is Status.UNKNOWN]:
        return unknown(text, why="; ".join(dict.fromkeys(why for why in doubts if why)), expected=expected)
    observed = "; ".join(dict.fromkeys(part.observed for part in parts if part.observed))
    evidence = "; ".join(dict.fromkeys(part.evidence for part in parts if part.evidence))
    return not_held(text, expected=expected, observed=observed or "none of them holds", evidence=evidence or None)


def condition_report(phase: Phase, proof: Proof, before: Status | None = None) -> ConditionReport:
    """Return a verdict as the report shows it; `before` is the status ahead of the action."""
    condition, verdict = proof.condition.condition, proof.verdict
    return ConditionReport(
        phase=phase,
        kind=condition.kind,
        text=verdict.text,
        status=verdict.status,
        before=before,
        expected=verdict.expected,
        observed=verdict.observed,
        evidence=verdict.evidence,
        why=verdict.why,
        name=condition.name,
        message=condition.message,
        at=condition.at,
    )


def condition_reports(
    phase: Phase, proofs: Collection[Proof], before: Collection[Proof] = ()
) -> tuple[ConditionReport, ...]:
    """Return the reports of `proofs`, each with what `before` says of the same condition."""
    earlier = {id(proof.condition): proof.verdict.status for proof in before}
    return tuple(condition_report(phase, proof, earlier.get(id(proof.condition))) for proof in proofs)
