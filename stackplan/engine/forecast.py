"""What would become of one step, from facts as they are now. Pure; imports model only.

What an earlier step may change cannot be held against a later one: there the forecast is `unknown`, never `would-fail`.
"""

from dataclasses import dataclass, replace

from stackplan.engine.bind import BoundStep
from stackplan.engine.prove import Proof, condition_reports, prove, summed
from stackplan.engine.wording import unmet_text
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.facts import Facts
from stackplan.model.kind import CannotAct
from stackplan.model.outcome import Phase, Reason, StepOutcome
from stackplan.model.report import ActionReport, StepReport
from stackplan.model.verdict import Status


@dataclass(frozen=True, slots=True)
class Standing:
    """What the steps before leave behind: the first that would act, the first that would fail; None when none does."""

    acting: str | None = None
    failing: str | None = None

    def after(self, report: StepReport) -> "Standing":
        """Return how things stand after a step with this forecast."""
        if report.outcome is StepOutcome.WOULD_FAIL:
            return Standing(self.acting, self.failing or report.id)
        if report.outcome in {StepOutcome.WOULD_CHANGE, StepOutcome.WOULD_RUN, StepOutcome.UNKNOWN}:
            return Standing(self.acting or report.id, self.failing)
        return self

    @property
    def doubt(self) -> str | None:
        """Why nothing certain can be said of the next step, or None when it finds the node as it is now."""
        if self.failing is not None:
            return f"`{self.failing}` would fail before it"
        return None if self.acting is None else f"`{self.acting}` would act before it"


def foresee(step: BoundStep, facts: Facts, standing: Standing) -> StepReport:
    """Return what would become of the step. `facts` are those of now, before any step has acted."""
    pre, post = prove(step.pre, facts), prove(step.post, facts)
    report = StepReport(
        id=step.id,
        outcome=StepOutcome.SATISFIED,
        at=step.step.at,
        name=step.step.name,
        why=step.step.why,
        conditions=(*condition_reports(Phase.PRE, pre), *condition_reports(Phase.POST, post)),
    )
    satisfied = summed(post) is Status.HELD
    if satisfied and not step.step.always:
        return report
    if standing.failing is not None:
        return replace(report, outcome=StepOutcome.UNKNOWN, message=f"not reached: {standing.doubt}")
    job = step.write_job(facts)
    if not isinstance(job, CannotAct):
        action = ActionReport(kind=step.step.action.kind, command=job.display or None)
        report = replace(report, action=action, diagnoses=step.notes(facts))
    if (stopped := _unproven(report, pre, Reason.PRECONDITION, standing)) is not None:
        return stopped
    if isinstance(job, CannotAct):
        return _refused(report, job, step, standing)
    if not job.stages:
        # Nobody but earlier steps can mend what a step finds that only looks.
        return _unproven(report, post, Reason.POSTCONDITION, standing) or report
    foretold = step.action.predicts and not satisfied
    return replace(report, outcome=StepOutcome.WOULD_CHANGE if foretold else StepOutcome.WOULD_RUN)


def _unproven(report: StepReport, proofs: tuple[Proof, ...], reason: Reason, standing: Standing) -> StepReport | None:
    """Return the forecast of a step that needs `proofs` to hold as they stand, or None when they do.

    It is certain to fail only where one is known not to hold, has no time to come true, and nobody acts before.
    """
    missing = tuple(proof for proof in proofs if not proof.verdict.held)
    if not missing:
        return None
    message = unmet_text(missing)
    certain = any(it.verdict.status is Status.NOT_HELD and not it.condition.patience_s for it in missing)
    if certain and standing.doubt is None:
        return replace(report, outcome=StepOutcome.WOULD_FAIL, reason=reason, message=message)
    doubt = f"; {standing.doubt}" if standing.doubt else ""
    return replace(report, outcome=StepOutcome.UNKNOWN, message=f"{message}{doubt}")


def _refused(report: StepReport, refusal: CannotAct, step: BoundStep, standing: Standing) -> StepReport:
    """Return the forecast of an action that cannot act on the node as it is now."""
    if standing.doubt is not None:
        message = f"{refusal.summary}; {standing.doubt}"
        return replace(report, outcome=StepOutcome.UNKNOWN, message=message)
    diagnosis = Diagnosis(summary=refusal.summary, at=step.step.action.at, step=step.id, remedy=refusal.remedy)
    return replace(
        report,
        outcome=StepOutcome.WOULD_FAIL,
        reason=Reason.PRECONDITION,
        message=refusal.summary,
        diagnoses=(diagnosis,),
    )
