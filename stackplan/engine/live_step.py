"""The life of one step on one node: what holds before, the action, what holds after, what earlier steps proved."""

from collections.abc import Collection
from dataclasses import field, replace

from stackplan.connection.failure import ConnectionFailure
from stackplan.engine.bind import BoundCondition, BoundStep, queries_of
from stackplan.engine.guard import guarded
from stackplan.engine.inquiry import settle
from stackplan.engine.judge import judge, went_well
from stackplan.engine.observe import answers_differ, observe
from stackplan.engine.past import PastStep
from stackplan.engine.perform import NodeAtWork, Performance, perform
from stackplan.engine.prove import Proof, condition_report, condition_reports, prove, summed
from stackplan.engine.recollection import as_recalled, recall, remember
from stackplan.engine.snapshots import protect, release
from stackplan.engine.wording import lost_text, stop_text, undeclared_no_op_text
from stackplan.model.change import Change
from stackplan.model.diagnosis import Diagnosis, Severity
from stackplan.model.facts import Facts, Query
from stackplan.model.frozen import dataclass
from stackplan.model.job import Ending, Exited, Signalled, TimedOut
from stackplan.model.kind import CannotAct, Evidence
from stackplan.model.outcome import Phase, Reason, StepOutcome
from stackplan.model.report import Broken, ConditionReport, StepReport
from stackplan.model.verdict import Status


@dataclass(frozen=True, slots=True)
class Proven:
    """What an earlier step has proven and what is asked again: its id and those of its postconditions."""

    step: str
    conditions: tuple[BoundCondition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """A step as it was found: its facts, its conditions' verdicts. `recalled`: by an earlier controller of the run."""

    facts: Facts
    pre: tuple[Proof, ...]
    post: tuple[Proof, ...]
    recalled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class After:
    """A step as its action left it. `earlier` are the proofs of earlier steps, by step, in order."""

    facts: Facts
    post: tuple[Proof, ...]
    earlier: tuple[tuple[str, tuple[Proof, ...]], ...]
    changes: tuple[Change, ...] = ()
    changed: bool = False

    @property
    def earlier_status(self) -> Status:
        return summed([proof for _, proofs in self.earlier for proof in proofs])


@dataclass(slots=True)
class LiveStep:
    """A step that has its turn on a node, after the steps in `earlier`.

    `first` is the number that its first attempt has within the run; `done`: the run has carried it out and proven it.
    """

    step: BoundStep
    node: NodeAtWork
    earlier: tuple[Proven, ...] = field(default=())
    first: int = 1
    done: bool = False

    def find(self) -> Before:
        """Return how things stand, in one round trip at most."""
        facts = self.node.inquiry.learn(self.step.queries)
        return Before(facts=facts, pre=prove(self.step.pre, facts), post=prove(self.step.post, facts))

    def recalled(self, past: PastStep) -> Before:
        """Return how things stood before the action that another controller started, as far as it was written down."""
        facts = recall(past.recollection, self._asked, self.node.name)
        return Before(facts=facts, pre=prove(self.step.pre, facts), post=prove(self.step.post, facts), recalled=True)

    def satisfied(self, before: Before) -> StepReport | None:
        """Return the report of a step that has nothing to do, or None when its action has to run."""
        if (self.step.step.always and not self.done) or summed(before.post) is not Status.HELD:
            return None
        return self.report(StepOutcome.SATISFIED, conditions=condition_reports(Phase.POST, before.post))

    def require(self, before: Before) -> Before | StepReport:
        """Wait for the preconditions as long as their `within` allows; return how things stand then, or the stop."""
        pre = settle(self.step.pre, self.node.inquiry, self.node.run.clock, self.node.run.stop)
        found = replace(before, facts=self.node.inquiry.learn(self.step.queries), pre=pre)
        if summed(pre) is Status.HELD:
            return found
        conditions = (*condition_reports(Phase.PRE, pre), *condition_reports(Phase.POST, before.post))
        message = stop_text(Reason.PRECONDITION, None, unmet(pre), None)
        return self.report(StepOutcome.FAILED, Reason.PRECONDITION, message=message, conditions=conditions)

    def act(self, before: Before) -> StepReport:
        """Carry the action out, with snapshots of what it writes, and prove what it left."""
        protection = protect(self.step, before.facts, self.node.run.id, self.node.inquiry)
        if isinstance(protection, CannotAct):
            return self._cannot_act(protection, before)
        self.node.protections[self.step.id] = protection
        kept = remember(before.facts, self._asked, self.node.run.recorder.redactor)
        performance = perform(self.step, before.facts, self.node, self.first, kept)
        if isinstance(performance, CannotAct):
            return self._cannot_act(performance, before)
        return self.prove(performance, before)

    def prove(self, performance: Performance, before: Before) -> StepReport:
        """Return what has become of the step, by what its action left."""
        try:
            after = self.look_after(performance.ending, before)
        except ConnectionFailure as error:
            return self._lost(performance, error, before)
        return self._judge(performance, before, after)

    @property
    def _asked(self) -> tuple[Query, ...]:
        """What bears on the step: its own questions, and those of what is proven again after it."""
        rechecked = tuple(condition for proven in self.earlier for condition in proven.conditions)
        return (*self.step.queries, *queries_of(rechecked))

    def _cannot_act(self, refusal: CannotAct, before: Before) -> StepReport:
        diagnosis = Diagnosis(
            summary=refusal.summary, at=self.step.step.action.at, step=self.step.id, remedy=refusal.remedy
        )
        conditions = (*condition_reports(Phase.PRE, before.pre), *condition_reports(Phase.POST, before.post))
        report = self.report(StepOutcome.FAILED, Reason.PRECONDITION, message=refusal.summary, conditions=conditions)
        return replace(report, diagnoses=(diagnosis,))

    def look_after(self, ending: Ending | None, before: Before) -> After:
        """Ask everything that bears on the step in one round trip; wait for conditions only if the action went well."""
        inquiry, run = self.node.inquiry, self.node.run
        rechecked = tuple(condition for proven in self.earlier for condition in proven.conditions)
        snapshots = self.node.protection(self.step.id).queries
        inquiry.learn((*self._asked, *snapshots))
        if ending is None or went_well(ending, ends_boot=self.step.ends_boot):
            post = settle(self.step.post, inquiry, run.clock, run.stop)
            again = settle(rechecked, inquiry, run.clock, run.stop)
        else:
            facts = inquiry.learn(())
            post, again = prove(self.step.post, facts), prove(rechecked, facts)
        facts = inquiry.learn(())
        compared = as_recalled(facts, run.recorder.redactor) if before.recalled else facts
        seen = observe(self.step, rechecked, before.facts, compared)
        differing = not seen.complete and answers_differ(self.step.post, before.facts, compared)
        return After(
            facts=facts,
            post=post,
            earlier=by_step(self.earlier, again),
            changes=seen.changes,
            changed=bool(seen.changes) or differing,
        )

    def _judge(self, performance: Performance, before: Before, after: After) -> StepReport:
        protection = self.node.protection(self.step.id)
        if protection.not_begun(after.facts, performance.ending):
            return self._not_begun(performance, before, after)
        ending = performance.ending
        if isinstance(ending, (Signalled, TimedOut)) or (isinstance(ending, Exited) and ending.code != 0):
            # The job did not come to its last stage, which drops the snapshots of what did not change.
            release(protection, self.node.name, performance.action.attempts, self.node.attachment)
        outcome, reason = judge(
            performance.ending,
            changed=after.changed,
            post=summed(after.post),
            earlier=after.earlier_status,
            ends_boot=self.step.ends_boot,
        )
        report = replace(
            self.report(outcome, reason, conditions=self.conditions(before, after)),
            action=performance.action,
            duration_s=performance.duration_s,
            changes=after.changes,
            diagnoses=(*protection.warnings(after.facts), *self._left_behind(performance.ending)),
        )
        if reason is None:
            return report
        broken = broke(after.earlier)
        culprits = unmet(after.post) or unmet([proof for _, proofs in after.earlier for proof in proofs])
        return replace(
            report,
            broke=broken,
            message=undeclared_no_op_text()
            if reason is Reason.NO_OP and not self.step.action.predicts
            else stop_text(reason, performance.ending, culprits, broken),
            diagnoses=(*self._diagnose(performance, before, after, reason), *report.diagnoses),
        )

    def _left_behind(self, ending: Ending | None) -> tuple[Diagnosis, ...]:
        """Return the note on what an action that ended has left running on the node."""
        if not isinstance(ending, Exited) or not ending.left or self.step.action.starts_services:
            return ()
        return (
            Diagnosis(
                severity=Severity.NOTE,
                summary=f"the action ended and left running: {', '.join(ending.left)}",
                step=self.step.id,
                at=self.step.step.action.at,
                remedy="nothing holds the node for it, and `unlock` does not end it; let a service run what is to stay",
            ),
        )

    def _not_begun(self, performance: Performance, before: Before, after: After) -> StepReport:
        """Report a step whose action was not started, for want of a snapshot."""
        said = (performance.action.output_tail or "").strip().rpartition("\n")[2]
        report = self.report(
            StepOutcome.FAILED,
            Reason.PRECONDITION,
            conditions=self.conditions(before, after),
            message=f"the action was not started: {said or 'no snapshot could be taken'}",
        )
        return replace(report, action=performance.action, duration_s=performance.duration_s)

    def conditions(self, before: Before, after: After) -> tuple[ConditionReport, ...]:
        return (
            *condition_reports(Phase.PRE, before.pre),
            *condition_reports(Phase.POST, after.post, before.post),
        )

    def _diagnose(
        self, performance: Performance, before: Before, after: After, reason: Reason
    ) -> tuple[Diagnosis, ...]:
        """Return what the action's kind can say of the failure; a kind that fails at that says nothing."""
        if performance.ending is None:
            return ()
        step, action = self.step.step, self.step.step.action
        broken = broke(after.earlier)
        again = tuple(proof for _, proofs in after.earlier for proof in proofs)
        evidence = Evidence(
            step=step.id,
            at=action.at,
            arguments=action.arguments,
            before=before.facts.seen_by(step.user),
            after=after.facts.seen_by(step.user),
            ending=performance.ending,
            output=performance.action.output_tail or "",
            reason=reason,
            changes=after.changes,
            unmet=tuple(proof.verdict for proof in (*unmet(after.post), *unmet(again))),
            broken_step=None if broken is None else broken.step,
            playbook=self.step.playbook,
        )
        found = guarded(lambda: self.step.action.diagnose(evidence), lambda _: ())
        return tuple(diagnosis.in_step(step.id) for diagnosis in found)

    def _lost(self, performance: Performance, error: ConnectionFailure, before: Before) -> StepReport:
        """Report a step after which nothing could be asked: its postconditions are not known."""
        why = "the connection was lost before it could be asked"
        asked = condition_reports(Phase.POST, before.post, before.post)
        conditions = tuple(
            replace(condition, status=Status.UNKNOWN, observed=None, evidence=None, why=why) for condition in asked
        )
        return replace(
            self.report(StepOutcome.FAILED, Reason.LOST, conditions=conditions),
            action=performance.action,
            duration_s=performance.duration_s,
            message=lost_text(performance.ending, str(error), performance.action.command, performance.since),
        )

    def report(
        self,
        outcome: StepOutcome,
        reason: Reason | None = None,
        *,
        conditions: tuple[ConditionReport, ...],
        message: str | None = None,
    ) -> StepReport:
        step = self.step.step
        return StepReport(
            id=step.id,
            outcome=outcome,
            at=step.at,
            name=step.name,
            why=step.why,
            reason=reason,
            conditions=conditions,
            message=message,
        )


def unmet(proofs: Collection[Proof]) -> tuple[Proof, ...]:
    return tuple(proof for proof in proofs if not proof.verdict.held)


def by_step(earlier: Collection[Proven], proofs: Collection[Proof]) -> tuple[tuple[str, tuple[Proof, ...]], ...]:
    """Return the proofs apart by the step that they belong to, in the order of the steps."""
    found = {id(proof.condition): proof for proof in proofs}
    return tuple((proven.step, tuple(found[id(it)] for it in proven.conditions)) for proven in earlier)


def broke(earlier: Collection[tuple[str, tuple[Proof, ...]]]) -> Broken | None:
    """Return the first step of which something no longer holds, with those conditions, or None."""
    for step, proofs in earlier:
        if culprits := unmet(proofs):
            conditions = tuple(condition_report(Phase.POST, proof, Status.HELD) for proof in culprits)
            return Broken(step=step, conditions=conditions)
    return None
