"""What would become of one step on a node that looks as the steps before will leave it. Pure; imports model only.

What a step of unknown effect may change cannot be held against a later one: there the forecast is `unknown`, never
`would-fail`. Nor can an answer that may have gone stale: only what predictions speak of, or what nothing has touched,
is said not to hold.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace

from stackplan.engine.bind import BoundStep
from stackplan.engine.foresight import Breach, breach, certain, endangered, left_open, proofs_at_turn, reports, unmet
from stackplan.engine.guard import guarded
from stackplan.engine.observe import Noting
from stackplan.engine.outlook import Outlook
from stackplan.engine.prove import Proof, summed
from stackplan.engine.wording import foretold_text, unmet_text
from stackplan.model.change import Change
from stackplan.model.diagnosis import Diagnosis, Severity
from stackplan.model.facts import Unknown
from stackplan.model.job import Exited, Job
from stackplan.model.kind import CannotAct, Evidence, Prediction
from stackplan.model.outcome import Phase, Reason, StepOutcome
from stackplan.model.report import ActionReport, StepReport
from stackplan.model.verdict import Status

_NAMED = 3


@dataclass(frozen=True, slots=True)
class Standing:
    """What the steps before leave behind: the first of unknown effect, the first that would fail; None without one."""

    unforetold: str | None = None
    failing: str | None = None

    @property
    def doubt(self) -> str | None:
        """Why nothing certain can be said of the next step, or None when the outlook tells how it finds the node."""
        if self.failing is not None:
            return f"`{self.failing}` would fail before it"
        return None if self.unforetold is None else f"`{self.unforetold}` would act before it"


@dataclass(frozen=True, slots=True)
class Forecast:
    """What would become of a step; what its action is foretold to do, if it would run and that is known; how things
    stand after it.
    """

    report: StepReport
    standing: Standing
    prediction: Prediction | None = None


def at_rest(step: BoundStep, outlook: Outlook) -> bool:
    """Return whether the step will have nothing to do when its turn comes: its action is then not run."""
    return not step.step.always and summed(outlook.prove(step.post)) is Status.HELD


def foresee(step: BoundStep, outlook: Outlook, standing: Standing, earlier: Collection[BoundStep]) -> Forecast:
    """Return what would become of the step, which comes after the steps `earlier`."""
    turn = Turn(step, outlook, standing)
    if at_rest(step, outlook):
        return turn.satisfied()
    if standing.failing is not None:
        return turn.not_reached()
    job, blind = _write_job(step, outlook)
    if not isinstance(job, CannotAct):
        turn = replace(turn, action=ActionReport(kind=step.step.action.kind, command=job.display or None))
    if (stopped := turn.barred()) is not None:
        return stopped
    if isinstance(job, CannotAct):
        return turn.refused(job, blind=blind)
    if not job.stages:
        return turn.looked()
    prediction = outlook.predict(step)
    return turn.unforetold(prediction) if isinstance(prediction, Unknown) else turn.foretold(prediction, earlier)


def _write_job(step: BoundStep, outlook: Outlook) -> tuple[Job | CannotAct, bool]:
    """Return the job, and whether it was written from an answer that a prediction left open."""
    answers = Noting(outlook.facts.answers)
    job = step.write_job(replace(outlook.facts, answers=answers))
    return job, any(query in outlook.foretold for query in answers.not_known)


@dataclass(frozen=True, slots=True)
class Turn:
    """A step whose turn has come, and the node as it finds it; `action` as far as it is written."""

    step: BoundStep
    outlook: Outlook
    standing: Standing
    action: ActionReport | None = None

    def satisfied(self) -> Forecast:
        report = self._report(StepOutcome.SATISFIED, self.outlook.prove(self.step.post), predicted=())
        if self.standing.doubt is None and (weak := self._too_weak()) is not None:
            report = replace(report, diagnoses=(weak,))
        return Forecast(report, self.standing)

    def not_reached(self) -> Forecast:
        report = self._report(StepOutcome.UNKNOWN, None, message=f"not reached: {self.standing.doubt}")
        return Forecast(report, self.standing)

    def barred(self) -> Forecast | None:
        """Return the forecast of a step that a precondition is certain to stop, or None."""
        missing = unmet(self._pre())
        if not certain(missing) or self.standing.doubt is not None:
            return None
        report = self._report(StepOutcome.WOULD_FAIL, None, message=unmet_text(missing))
        return self._failing(replace(report, reason=Reason.PRECONDITION))

    def refused(self, refusal: CannotAct, *, blind: bool) -> Forecast:
        """Return the forecast of an action that cannot act on the node, as far as it is known how it will find it."""
        doubt = self.standing.doubt or ("what it needs to know is not foretold" if blind else None)
        if doubt is not None:
            report = self._report(StepOutcome.UNKNOWN, None, message=f"{refusal.summary}; {doubt}")
            return self._of_unknown_effect(report)
        at = self.step.step.action.at
        diagnosis = Diagnosis(summary=refusal.summary, at=at, step=self.step.id, remedy=refusal.remedy)
        report = self._report(StepOutcome.WOULD_FAIL, None, message=refusal.summary)
        return self._failing(replace(report, reason=Reason.PRECONDITION, diagnoses=(diagnosis,)))

    def looked(self) -> Forecast:
        """Return the forecast of a step that only looks: nobody but earlier steps can mend what it finds."""
        post = proofs_at_turn(self.step.post, self.outlook)
        report = self._report(StepOutcome.SATISFIED, post, predicted=())
        if certain(unmet(post)) and self.standing.doubt is None:
            report = replace(report, outcome=StepOutcome.WOULD_FAIL, reason=Reason.POSTCONDITION)
            return self._failing(replace(report, message=unmet_text(unmet(post))))
        if missing := unmet((*self._pre(), *post)):
            report = replace(report, outcome=StepOutcome.UNKNOWN, message=self._doubtful(unmet_text(missing)))
        return Forecast(report, self.standing)

    def unforetold(self, unknown: Unknown) -> Forecast:
        """Return the forecast of an action whose effect is not known: what will hold after it is not, either."""
        found = self.outlook.prove(self.step.post)
        predicts = self.step.action.predicts
        acts = predicts and summed(found) is not Status.HELD
        report = self._report(
            StepOutcome.WOULD_CHANGE if acts else StepOutcome.WOULD_RUN,
            tuple(left_open(proof, unknown.why) for proof in found),
            message=f"unknown until applied: {unknown.why}" if predicts else None,
        )
        return self._of_unknown_effect(self._unless_barred(report))

    def foretold(self, prediction: Prediction, earlier: Collection[BoundStep]) -> Forecast:
        """Return the forecast of an action whose effect is known: what holds then of this step, and of others."""
        after = self.outlook.after(self.step.id, prediction)
        post = after.prove_surely(self.step.post)
        acts = summed(self.outlook.prove(self.step.post)) is not Status.HELD
        outcome = StepOutcome.WOULD_CHANGE if acts else StepOutcome.WOULD_RUN
        report = replace(self._report(outcome, post, predicted=prediction.changes), details=prediction.details)
        broken = breach(earlier, self.outlook, after, prediction)
        if (reason := _reason(prediction, post, broken)) is not None:
            failure = _Failure(reason, prediction, after, unmet(post), broken)
            return self._would_fail(report, failure)
        in_danger = endangered(earlier, self.step, self.outlook, after, prediction)
        report = replace(report, diagnoses=(*report.diagnoses, *(self._in_danger(it) for it in in_danger)))
        missing = unmet(post)
        if missing and not prediction.changes:
            message = self._doubtful(f"the action would change nothing, and {unmet_text(missing)}")
            report = replace(report, outcome=StepOutcome.UNKNOWN, message=message)
        return Forecast(self._unless_barred(report), self.standing, prediction)

    def _would_fail(self, report: StepReport, failure: "_Failure") -> Forecast:
        """Return the forecast of a failure; of one that an earlier step of unknown effect may prevent, `unknown`."""
        report = replace(report, diagnoses=(*report.diagnoses, *self._diagnose(failure)))
        if self.standing.doubt is not None:
            report = replace(report, outcome=StepOutcome.UNKNOWN, message=self._doubtful(failure.message))
            return Forecast(report, self.standing, failure.prediction)
        broke = failure.broken.report() if failure.broken and failure.reason is Reason.REGRESSION else None
        report = replace(report, outcome=StepOutcome.WOULD_FAIL, message=failure.message, broke=broke)
        return self._failing(replace(report, reason=failure.reason))

    def _diagnose(self, failure: "_Failure") -> tuple[Diagnosis, ...]:
        """Return what the action's kind says of a failure that is foretold, as it would of the true one."""
        step, found = self.step.step, failure.prediction.failures
        if not found:
            evidence = Evidence(
                step=step.id,
                at=step.action.at,
                arguments=step.action.arguments,
                before=self.outlook.facts.seen_by(step.user),
                after=failure.after.facts.seen_by(step.user),
                ending=Exited(0),
                output="",
                reason=failure.reason,
                changes=failure.prediction.changes,
                unmet=tuple(proof.verdict for proof in failure.culprits),
                broken_step=None if failure.broken is None else failure.broken.step,
            )
            found = guarded(lambda: self.step.action.diagnose(evidence), lambda _: ())
        return tuple(diagnosis.in_step(step.id) for diagnosis in found)

    def _in_danger(self, found: Breach) -> Diagnosis:
        texts = "; ".join(proof.verdict.text for proof in found.proofs)
        why = next((proof.verdict.why for proof in found.proofs if proof.verdict.why), None)
        return Diagnosis(
            summary=f"Whether `{found.step}` goes on holding is not foretold: {texts}" + (f" ({why})." if why else "."),
            severity=Severity.WARNING,
            at=self.step.step.action.at,
            step=self.step.id,
        )

    def _too_weak(self) -> Diagnosis | None:
        """Return the warning on a step whose action would change something although nothing is left for it to do."""
        prediction = self.outlook.predict(self.step)
        if isinstance(prediction, Unknown) or prediction.failures or not prediction.changes:
            return None
        names = ", ".join(change.name for change in prediction.changes[:_NAMED])
        more = f" and {len(prediction.changes) - _NAMED} more" if len(prediction.changes) > _NAMED else ""
        return Diagnosis(
            summary=f"The postconditions hold already, and the action would still change {names}{more}: they are too "
            "weak to tell whether it was done.",
            severity=Severity.WARNING,
            at=self.step.step.at,
            step=self.step.id,
            remedy="State in the postconditions what has to come of the action, or set `always: true` on the step.",
        )

    def _pre(self) -> tuple[Proof, ...]:
        return proofs_at_turn(self.step.pre, self.outlook)

    def _unless_barred(self, report: StepReport) -> StepReport:
        """Return the report; `unknown` where it is not certain that the preconditions let the action start."""
        missing = unmet(self._pre())
        if not missing:
            return report
        return replace(report, outcome=StepOutcome.UNKNOWN, message=self._doubtful(unmet_text(missing)))

    def _doubtful(self, message: str) -> str:
        return f"{message}; {self.standing.doubt}" if self.standing.doubt else message

    def _failing(self, report: StepReport) -> Forecast:
        return Forecast(report, replace(self.standing, failing=report.id))

    def _of_unknown_effect(self, report: StepReport) -> Forecast:
        standing = replace(self.standing, unforetold=self.standing.unforetold or report.id)
        return Forecast(report, standing)

    def _report(
        self,
        outcome: StepOutcome,
        post: Collection[Proof] | None,
        *,
        predicted: tuple[Change, ...] | None = None,
        message: str | None = None,
    ) -> StepReport:
        """Return the report; `post` are the verdicts that are foretold, None where the action would not run."""
        step, doubt = self.step.step, self.standing.doubt
        reached = self.standing.failing is None
        return StepReport(
            id=step.id,
            outcome=outcome,
            at=step.at,
            name=step.name,
            why=step.why,
            action=self.action,
            predicted=predicted,
            conditions=(
                *reports(Phase.PRE, self.step.pre, self.outlook, self._pre() if reached else None, doubt),
                *reports(Phase.POST, self.step.post, self.outlook, post, doubt),
            ),
            diagnoses=() if self.action is None else self.outlook.recall("notes", self.step, self.step.notes),
            message=message,
        )


@dataclass(frozen=True, slots=True)
class _Failure:
    """How an action whose effect is known would fail; `missing` are its step's own conditions that would not hold."""

    reason: Reason
    prediction: Prediction
    after: Outlook
    missing: tuple[Proof, ...]
    broken: Breach | None

    @property
    def culprits(self) -> tuple[Proof, ...]:
        """The conditions that are foretold not to hold, those of the step itself ahead of those that it would break."""
        own = tuple(proof for proof in self.missing if proof.verdict.status is Status.NOT_HELD)
        return (*own, *(self.broken.proofs if self.broken else ()))

    @property
    def message(self) -> str:
        if self.prediction.failures:
            return self.prediction.failures[0].summary
        return foretold_text(self.reason, self.culprits, self.broken.report() if self.broken else None)


def _reason(prediction: Prediction, post: Collection[Proof], broken: Breach | None) -> Reason | None:
    """Return why a step with this outcome would fail, in the order in which a run judges; None when it would not."""
    if prediction.failures:
        return Reason.ACTION
    if certain(post):
        return Reason.POSTCONDITION if prediction.changes else Reason.NO_OP
    return Reason.REGRESSION if broken else None
