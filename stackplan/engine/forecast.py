"""What would become of one step on a node that looks as the steps before will leave it. Pure; imports model only.

What a step of unknown effect may change is neither held against a later one nor counted for it: there the forecast is
`unknown`, neither `would-fail` nor `satisfied`. Nor is an answer held against it that may have gone stale: only what
predictions speak of, or what nothing has touched, is said not to hold.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from stackplan.engine.bind import BoundStep
from stackplan.engine.foresight import (
    Breach,
    breach,
    certain,
    endangered,
    left_open,
    overcast,
    proofs_at_turn,
    reports,
    unmet,
    warranted,
)
from stackplan.engine.guard import guarded
from stackplan.engine.observe import Noting, observe
from stackplan.engine.outlook import Outlook
from stackplan.engine.prove import Proof, summed
from stackplan.engine.standing import Cloud, Standing
from stackplan.engine.wording import foretold_text, unmet_text
from stackplan.model.change import Change
from stackplan.model.diagnosis import Diagnosis, Severity
from stackplan.model.facts import Unknown
from stackplan.model.frozen import dataclass
from stackplan.model.job import Exited, Job
from stackplan.model.kind import CannotAct, Evidence, Prediction
from stackplan.model.outcome import Phase, Reason, StepOutcome
from stackplan.model.report import NOT_REACHED_FOR, ActionReport, StepReport
from stackplan.model.verdict import Status

_NAMED = 3


@dataclass(frozen=True, slots=True)
class Forecast:
    """What would become of a step; what its action is foretold to do, if it would run and that is known; how things
    stand after it.
    """

    report: StepReport
    standing: Standing
    prediction: Prediction | None = None


def at_rest(step: BoundStep, outlook: Outlook, standing: Standing, earlier: Sequence[BoundStep]) -> bool:
    """Return whether the step has nothing to do as far as is foretold: its action is then not run."""
    return Turn(step, outlook, standing, earlier).rests


def foresee(step: BoundStep, outlook: Outlook, standing: Standing, earlier: Sequence[BoundStep]) -> Forecast:
    """Return what would become of the step, which comes after the steps `earlier`."""
    turn = Turn(step, outlook, standing, earlier)
    if standing.failing is not None:
        return turn.not_reached(standing.failing)
    if turn.rests and turn.rests_surely:
        return turn.satisfied()
    job, blind = _write_job(step, outlook)
    if not isinstance(job, CannotAct):
        turn = replace(turn, action=ActionReport(kind=step.step.action.kind, command=job.display or None))
    if turn.rests:
        return turn.overcast(acts=isinstance(job, CannotAct) or bool(job.stages))
    if (stopped := turn.barred()) is not None:
        return stopped
    return turn.refused(job, blind=blind) if isinstance(job, CannotAct) else turn.acted(job)


def _write_job(step: BoundStep, outlook: Outlook) -> tuple[Job | CannotAct, bool]:
    """Return the job, and whether it was written from an answer that a prediction left open."""
    answers = Noting(outlook.facts.answers)
    job = step.write_job(replace(outlook.facts, answers=answers))
    return job, any(query in outlook.foretold for query in answers.not_known)


@dataclass(frozen=True, slots=True)
class Turn:
    """A step whose turn has come after the steps `earlier`, and the node as it finds it; `action` as far as it is
    written.
    """

    step: BoundStep
    outlook: Outlook
    standing: Standing
    earlier: Sequence[BoundStep]
    action: ActionReport | None = None

    @property
    def rests(self) -> bool:
        """Whether the step has nothing to do as far as is foretold."""
        return not self.step.step.always and summed(self._found()) is Status.HELD

    @property
    def doubt(self) -> str | None:
        """Why the step may not do what is foretold of it; None without a reason."""
        return self.standing.doubt(self.step.queries) or self.unsettled

    @property
    def unsettled(self) -> str | None:
        """What settles whether the action runs at all, where nothing foretells whether the postconditions hold by then;
        None where that is known.
        """
        found = proofs_at_turn(self.step.post, self.outlook)
        found = tuple(warranted(proof, self.earlier, self.standing.quiet_from, self.outlook.facts) for proof in found)
        missing = unmet(found)
        open_ = [it for it in missing if it.verdict.status is Status.UNKNOWN and self.outlook.moves(it.condition)]
        if self.step.step.always or not open_ or len(open_) < len(missing):
            return None
        more = f", and {len(open_) - 1} more" if len(open_) > 1 else ""
        return f"the action runs only if this does not hold by then: {open_[0].verdict.text}{more}"

    @property
    def rests_surely(self) -> bool:
        """Whether the postconditions hold whatever steps of unknown effect do."""
        return summed(self._overcast(self._found())) is Status.HELD

    def _found(self) -> tuple[Proof, ...]:
        """Return how the postconditions stand when the step's turn comes."""
        found = self.outlook.prove(self.step.post)
        return tuple(warranted(proof, self.earlier, self.standing.quiet_from, self.outlook.facts) for proof in found)

    def satisfied(self) -> Forecast:
        report = self._report(StepOutcome.SATISFIED, self._found(), predicted=())
        if self.doubt is None and (weak := self._too_weak()) is not None:
            report = replace(report, diagnoses=(weak,))
        return Forecast(report, self.standing)

    def not_reached(self, failing: str) -> Forecast:
        why = f"`{failing}` would fail before it"
        post = tuple(left_open(proof, why) for proof in self.outlook.prove(self.step.post))
        pre = tuple(left_open(proof, why) for proof in self.outlook.prove(self.step.pre))
        report = self._report(StepOutcome.UNKNOWN, post, pre=pre, message=f"{NOT_REACHED_FOR}{why}")
        return Forecast(report, self.standing)

    def overcast(self, *, acts: bool) -> Forecast:
        """Return the forecast of a step that has nothing to do unless a step of unknown effect changes that."""
        now = summed(self.outlook.prove_now(self.step.post)) is Status.HELD
        post = self._overcast(self._found())
        why = self.standing.doubt([query for proof in unmet(post) for query in proof.condition.queries])
        message = f"{'holds now' if now else 'foretold to hold'}; {why}"
        report = self._report(StepOutcome.UNKNOWN, post, message=message)
        return self._of_unknown_effect(report, sure=False) if acts else Forecast(report, self.standing)

    def barred(self) -> Forecast | None:
        """Return the forecast of a step that a precondition is certain to stop, or None."""
        missing = unmet(self._overcast(self._pre()))
        if not certain(missing) or self.unsettled is not None:
            return None
        report = self._report(StepOutcome.WOULD_FAIL, None, message=unmet_text(missing))
        return self._failing(replace(report, reason=Reason.PRECONDITION))

    def refused(self, refusal: CannotAct, *, blind: bool) -> Forecast:
        """Return the forecast of an action that cannot act on the node, as far as it is known how it will find it."""
        blindness = "what it needs to know is not foretold" if blind else None
        doubt = self.standing.doubt(self.step.queries) or blindness or self.unsettled
        if doubt is not None:
            report = self._report(StepOutcome.UNKNOWN, None, message=f"{refusal.summary}; {doubt}")
            return self._of_unknown_effect(replace(report, details=self._standing_lines()))
        at = self.step.step.action.at
        diagnosis = Diagnosis(summary=refusal.summary, at=at, step=self.step.id, remedy=refusal.remedy)
        report = self._report(StepOutcome.WOULD_FAIL, None, message=refusal.summary)
        return self._failing(replace(report, reason=Reason.PRECONDITION, diagnoses=(diagnosis,)))

    def acted(self, job: Job) -> Forecast:
        """Return the forecast of an action that does its job."""
        if not job.stages:
            return self.looked()
        user = self.step.step.user
        prediction = self.outlook.predict(self.step)
        if (doubt := self.standing.doubt([it.asked_by(user) for it in self.step.action.reads()])) is not None:
            prediction = Unknown(f"what it reads may be another by then, {doubt}")
        return self.unforetold(prediction) if isinstance(prediction, Unknown) else self.foretold(prediction)

    def looked(self) -> Forecast:
        """Return the forecast of a step that only looks: nobody but earlier steps can mend what it finds."""
        found = tuple(
            warranted(proof, self.earlier, self.standing.quiet_from, self.outlook.facts)
            for proof in proofs_at_turn(self.step.post, self.outlook)
        )
        post = self._overcast(found)
        report = self._report(StepOutcome.SATISFIED, post, predicted=())
        if certain(unmet(post)):
            report = replace(report, outcome=StepOutcome.WOULD_FAIL, reason=Reason.POSTCONDITION)
            return self._failing(replace(report, message=unmet_text(unmet(post))))
        if missing := unmet((*self._pre(), *found)) or unmet(post):
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
        if self.unsettled is not None:
            why = f"; {unknown.why}" if predicts else ""
            report = replace(report, outcome=StepOutcome.UNKNOWN, message=f"{self.unsettled}{why}")
        return self._of_unknown_effect(self._unless_barred(report))

    def foretold(self, prediction: Prediction) -> Forecast:
        """Return the forecast of an action whose effect is known: what holds then of this step, and of others."""
        after = self.outlook.after(self.step, prediction)
        post = after.prove_surely(self.step.post)
        acts = summed(self.outlook.prove(self.step.post)) is not Status.HELD
        outcome = StepOutcome.WOULD_CHANGE if acts else StepOutcome.WOULD_RUN
        report = replace(
            self._report(outcome, self._after_acting(post, after, prediction), predicted=self._seen(after, prediction)),
            details=prediction.details,
            message=None if self.doubt is None else f"as things stand now; {self.doubt}",
        )
        broken = breach(self.earlier, self.outlook, after, prediction)
        if (reason := _reason(prediction, post, broken)) is not None:
            failure = _Failure(reason, prediction, after, unmet(post), broken)
            return self._would_fail(report, failure)
        in_danger = endangered(self.earlier, self.step, self.outlook, after, prediction)
        report = replace(report, diagnoses=(*report.diagnoses, *(self._in_danger(it) for it in in_danger)))
        missing = unmet(post)
        if missing and not prediction.changes:
            message = self._doubtful(f"the action would change nothing, and {unmet_text(missing)}")
            report = replace(report, outcome=StepOutcome.UNKNOWN, message=message)
        return self._unless_settled(self._unless_barred(report), prediction)

    def _unless_settled(self, report: StepReport, prediction: Prediction) -> Forecast:
        """Return the forecast; `unknown` where it is not known whether the action runs, for then what is foretold of it
        may come or not.
        """
        if self.unsettled is None or not prediction.changes:
            return self._foretold_so_far(report, prediction)
        told = report.message if report.outcome is StepOutcome.UNKNOWN else None
        message = told or f"{self.unsettled}; it would change {_listed(prediction.changes)}"
        cloud = Cloud(report.id, frozenset(prediction.answers) | self.outlook.open_questions, sure=False)
        report = replace(report, outcome=StepOutcome.UNKNOWN, predicted=None, message=message)
        report = replace(report, details=self._standing_lines())
        return Forecast(report, self.standing.under(cloud))

    def _standing_lines(self) -> tuple[str, ...]:
        """Return what the action would do to the node as it stands now, where nothing better is foretold."""
        return self.outlook.recall_now("standing lines", self.step, self.step.standing_lines)

    def _foretold_so_far(self, report: StepReport, prediction: Prediction) -> Forecast:
        """Return the forecast; what is foretold of an action in doubt is in doubt for the steps to come, too."""
        if self.standing.doubt(self.step.action_queries) is None or not prediction.changes:
            return Forecast(report, self.standing, prediction)
        return replace(self._of_unknown_effect(report), prediction=prediction)

    def _seen(self, after: Outlook, prediction: Prediction) -> tuple[Change, ...]:
        """Return what changes as a run would tell it: what the action foretells, and what conditions see change under
        a name of their own.
        """
        if not prediction.changes:
            return ()
        looking = [
            it
            for step in self.earlier
            for it in step.post
            if it.recheck.after_each_step and not prediction.answers.keys().isdisjoint(it.queries)
        ]
        found = {(it.kind, it.name): it for it in prediction.changes}
        for change in observe(self.step, looking, self.outlook.facts, after.facts).changes:
            found.setdefault((change.kind, change.name), change)
        return tuple(found[key] for key in sorted(found))

    def _would_fail(self, report: StepReport, failure: "_Failure") -> Forecast:
        """Return the forecast of a failure; of one that an earlier step of unknown effect may prevent, `unknown`."""
        report = replace(report, diagnoses=(*report.diagnoses, *self._diagnose(failure)))
        if self.doubt is not None:
            report = replace(report, outcome=StepOutcome.UNKNOWN, message=self._doubtful(failure.message))
            return self._unless_settled(report, failure.prediction)
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
                playbook=self.step.playbook,
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
        """Return the warning on a step whose action would change something although nothing is left for it to do.

        Of an action that is done once more whenever it runs (a restart) that tells nothing, as long as a postcondition
        looks at more than whether something is alive: whether it is due is for that one to say.
        """
        prediction = self.outlook.predict(self.step)
        if isinstance(prediction, Unknown) or prediction.failures or not prediction.changes:
            return None
        if prediction.anew and not all(kind.alive_only for it in self.step.post for kind in it.kinds):
            return None
        return Diagnosis(
            summary="The postconditions hold already, and the action would still change "
            f"{_listed(prediction.changes)}: they are too weak to tell whether it was done.",
            severity=Severity.WARNING,
            at=self.step.step.at,
            step=self.step.id,
            remedy="State in the postconditions what has to come of the action, or set `always: true` on the step.",
        )

    def _pre(self) -> tuple[Proof, ...]:
        found = proofs_at_turn(self.step.pre, self.outlook)
        return tuple(warranted(proof, self.earlier, self.standing.quiet_from, self.outlook.facts) for proof in found)

    def _unless_barred(self, report: StepReport) -> StepReport:
        """Return the report; `unknown` where it is not certain that the preconditions let the action start."""
        missing = unmet(self._pre())
        if not missing:
            return report
        return replace(report, outcome=StepOutcome.UNKNOWN, message=self._doubtful(unmet_text(missing)))

    def _doubtful(self, message: str) -> str:
        return f"{message}; {self.doubt}" if self.doubt else message

    def _failing(self, report: StepReport) -> Forecast:
        return Forecast(report, replace(self.standing, failing=report.id))

    def _of_unknown_effect(self, report: StepReport, *, sure: bool = True) -> Forecast:
        reach = self.outlook.recall("reach", self.step, self.step.reach)
        return Forecast(report, self.standing.under(Cloud(report.id, reach, sure)))

    def _overcast(self, proofs: Collection[Proof]) -> tuple[Proof, ...]:
        """Return how conditions stand at the step's turn, unknown where steps of unknown effect may change that."""
        return tuple(overcast(it, self.outlook, self.standing.clouded(it.condition.queries)) for it in proofs)

    def _after_acting(self, post: Collection[Proof], after: Outlook, prediction: Prediction) -> tuple[Proof, ...]:
        """Return how conditions stand after the action. In doubt what it brings about is not known either: it is
        foretold of a node that may be another one by then.
        """
        if (doubt := self.doubt) is None:
            return tuple(post)
        shaken = self.standing.doubt(self.step.action_queries)
        found = []
        for proof in post:
            queries = proof.condition.queries
            if proof.verdict.status is Status.NOT_HELD:
                found.append(left_open(proof, self.standing.doubt(queries) or doubt))
                continue
            clouded = self.standing.clouded(queries)
            if shaken is not None:
                why = Unknown(f"as things stand now it will hold; {shaken}")
                clouded |= dict.fromkeys([query for query in queries if query in prediction.answers], why)
            found.append(overcast(proof, after, clouded))
        return tuple(found)

    def _report(
        self,
        outcome: StepOutcome,
        post: Collection[Proof] | None,
        *,
        pre: Collection[Proof] | None = None,
        predicted: tuple[Change, ...] | None = None,
        message: str | None = None,
    ) -> StepReport:
        """Return the report. `post` are the verdicts that are foretold, None where the action would not run; `pre`
        those at the step's turn, None where they follow from the outlook.
        """
        step = self.step.step
        found = self._overcast(self._pre()) if pre is None else pre
        return StepReport(
            id=step.id,
            outcome=outcome,
            at=step.at,
            name=step.name,
            why=step.why,
            action=self.action,
            predicted=predicted,
            conditions=(
                *reports(Phase.PRE, self.step.pre, self.outlook, found),
                *reports(Phase.POST, self.step.post, self.outlook, post),
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


def _listed(changes: Sequence[Change]) -> str:
    """Return the names of the first things that change, and how many more there are."""
    names = ", ".join(change.name for change in changes[:_NAMED])
    return f"{names} and {len(changes) - _NAMED} more" if len(changes) > _NAMED else names


def _reason(prediction: Prediction, post: Collection[Proof], broken: Breach | None) -> Reason | None:
    """Return why a step with this outcome would fail, in the order in which a run judges; None when it would not."""
    if prediction.failures:
        return Reason.ACTION
    if certain(post):
        return Reason.POSTCONDITION if prediction.changes else Reason.NO_OP
    return Reason.REGRESSION if broken else None
