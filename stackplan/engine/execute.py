"""One node from its first step to its last: stops at the first thing that is not proven, and proves everything again.

The playbook's own preconditions are asked at the start and have to hold before the first action runs; a node on which
nothing has to run is not held up by them. When all steps are done, all their postconditions are checked once more, the
costly ones too. One that broke since stops the node at the step that it belongs to, with reason `regression`.
"""

from collections.abc import Mapping
from dataclasses import field, replace

from stackplan.connection.failure import ConnectionFailure
from stackplan.engine.bind import BoundPlaybook, BoundStep, SkippedStep, queries_of
from stackplan.engine.headline import headline
from stackplan.engine.inquiry import settle
from stackplan.engine.live_step import Before, LiveStep, Proven, broke, by_step, unmet
from stackplan.engine.on_failure import answer_failure
from stackplan.engine.past import PastNode, PastStep
from stackplan.engine.perform import NodeAtWork
from stackplan.engine.permit import REMEDY, Permit, stale
from stackplan.engine.prove import Proof, condition_reports, prove, summed
from stackplan.engine.reattach import Anew, others, reattach
from stackplan.engine.snapshots import shortage
from stackplan.engine.stop import Level
from stackplan.engine.wording import regression_text, unmet_text
from stackplan.model.change import Change
from stackplan.model.event import NodeProven, StepEnded
from stackplan.model.facts import Facts, Query
from stackplan.model.frozen import dataclass
from stackplan.model.outcome import NodeOutcome, Phase, Reason, StepOutcome
from stackplan.model.playbook import OnFailure
from stackplan.model.report import NodeReport, StepReport
from stackplan.model.verdict import Status

_OF_NODE = {Reason.LOST: NodeOutcome.LOST, Reason.INTERRUPTED: NodeOutcome.INTERRUPTED}


@dataclass(slots=True)
class Execution:
    """A playbook on its way through one connected node; with a `permit` only as a saved plan has it."""

    playbook: BoundPlaybook
    node: NodeAtWork
    permit: Permit | None = None
    foretold: Mapping[str, tuple[Change, ...] | None] = field(default_factory=dict)
    _required: bool = field(default=False, init=False)
    _preconditions: tuple[Proof, ...] = field(default=(), init=False)
    _done: list[BoundStep] = field(default_factory=list, init=False)
    _reports: dict[str, StepReport] = field(default_factory=dict, init=False)
    _past: PastNode = field(init=False)
    _settled: set[str] = field(default_factory=set, init=False)
    _at: str | None = field(default=None, init=False)
    _headline: str | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._past = self.node.run.past.get(self.node.name) or PastNode()

    def execute(self) -> NodeReport:
        """Return how the node ended; its steps are told as events. Whatever the connection does, nothing is raised."""
        try:
            self._find()
            report = self._barred() or self._come_back() or self._take_steps() or self._unwritten() or self._check_all()
        except ConnectionFailure as error:
            # Only what was asked can end here; a job whose end is not known is its step's own failure.
            reason = self._reason(Reason.LOST)
            report = NodeReport(
                node=self.node.name,
                outcome=self._outcome(reason),
                stopped_at=self._at,
                reason=reason,
                message=str(error),
                remedy=error.remedy or self._way_on(reason),
            )
        preconditions = condition_reports(Phase.PRE, self._preconditions)
        return replace(report, summary=self._headline, preconditions=preconditions)

    @property
    def outcomes(self) -> dict[str, StepOutcome]:
        """How the steps ended that the node has come to, by id."""
        return {step: report.outcome for step, report in self._reports.items()}

    def _find(self) -> None:
        """Ask in one round trip the preconditions and all that is cheap to know of the steps."""
        facts = self.node.inquiry.learn(first_queries(self.playbook))
        self._headline = headline(self.playbook, facts)
        self._preconditions = prove(self.playbook.preconditions, facts)
        self._tell_preconditions()

    def _tell_preconditions(self) -> None:
        reports = condition_reports(Phase.PRE, self._preconditions)
        self.node.run.recorder.record(
            NodeProven(node=self.node.name, preconditions=reports, time=self.node.run.clock.now())
        )

    def _barred(self) -> NodeReport | None:
        """Return the stop of a node that is not as its saved plan found it, or None."""
        if self.permit is None:
            return None
        moved = self.permit.moved(self.playbook, self.node.inquiry.learn(self.playbook.queries))
        return stale(self.node.name, moved) if moved else None

    def _take_steps(self) -> NodeReport | None:
        """Take the steps in order; return the stop, or None when all are done."""
        for step in self.playbook.steps:
            self._at = step.id
            if (outcome := self.node.run.stop.outcome_before_next_step) is not None:
                return self._stopped_before(step.id, outcome)
            if (stopped := self._unwritten()) is not None:
                return stopped
            if isinstance(step, SkippedStep):
                self._tell(_skipped(step))
            elif (stopped := self._take_step(step)) is not None:
                return stopped
        self._at = None
        return None

    def _unwritten(self) -> NodeReport | None:
        """Return the stop of a node of which something that happened cannot be journalled, or None.

        A step that began after it would be in nobody's record, and neither would the end of the one before.
        """
        why = self.node.run.recorder.why_unwritten
        if why is None:
            return None
        before = "the last check" if self._at is None else f"`{self._at}` was begun"
        return NodeReport(
            node=self.node.name,
            outcome=NodeOutcome.FAILED,
            stopped_at=self._at,
            reason=Reason.ACTION,
            message=f"{why}; stopped before {before}",
            remedy=f"`stackplan resume {self.node.run.id}` goes on when there is room",
        )

    def _take_step(self, step: BoundStep) -> NodeReport | None:
        past = self._past.steps.get(step.id, PastStep())
        live = LiveStep(step, self.node, self._proven(step), first=past.attempt + 1, done=past.changed)
        before = live.find()
        report = live.satisfied(before)
        if report is None:
            if (stopped := self._require()) is not None:
                return stopped
            ready = live.require(before)
            # Waiting for a precondition may have taken long: the operator's wish counts up to the last moment.
            if (outcome := self.node.run.stop.outcome_before_next_step) is not None:
                return self._stopped_before(step.id, outcome)
            if isinstance(ready, Before) and (stopped := self._not_in_plan(step, ready)) is not None:
                return stopped
            report = ready if isinstance(ready, StepReport) else live.act(ready)
        elif past.changed and past.report is not None:
            # What the run has changed stays told as changed, also by a controller that finds it so.
            report = past.report
            if step.id in self._settled:
                self._done.append(step)
                return None
        self._tell(report)
        if report.outcome is StepOutcome.FAILED:
            return self._stopped_by(report)
        self._done.append(step)
        return None

    def _come_back(self) -> NodeReport | None:
        """Deal with what an earlier controller of the run left here; return the end of the node where that is one."""
        return self._occupied() or self._finished() or self._answer_failure() or self._settle_open()

    def _answer_failure(self) -> NodeReport | None:
        """Finish what an earlier controller was to do after a failure, taking back what the run wrote; else None.

        The step that failed is not run again by that: only once the node has come to its end as failed, and the run is
        taken up once more.
        """
        steps = {str(step.id): step for step in self.playbook.bound_steps}
        failed = self._past.failed
        if failed is None or failed not in steps or steps[failed].step.on_failure is not OnFailure.ROLLBACK:
            return None
        self._reports = self._past.reports()
        return self._stopped_by(self._reports[failed])

    def _settle_open(self) -> NodeReport | None:
        """Bring the step to its end that was left open; return the stop where it is one.

        Ahead of all others: what it is in the middle of changing says nothing of the steps before it, and nothing may
        run beside it. So those are taken as they were told, and proven again when it has ended.
        """
        for number, step in enumerate(self.playbook.bound_steps):
            past = self._past.steps.get(step.id, PastStep())
            if not past.open:
                continue
            self._at = step.id
            earlier = [it for it in self.playbook.bound_steps[:number] if self._past.proven(it.id)]
            told = self._past.reports()
            self._reports.update({it.id: told[it.id] for it in earlier})
            self._done = earlier
            live = LiveStep(step, self.node, self._proven(step), first=past.attempt + 1, done=past.changed)
            found = reattach(live, past)
            past.open = False
            self._done = []
            if isinstance(found, Anew):
                past.attempt = found.attempt - 1
                continue
            self._tell(found)
            if found.outcome is StepOutcome.FAILED:
                return self._stopped_by(found)
            past.report = found
            past.attempt = max(past.attempt, found.action.attempts if found.action else 0)
            self._settled.add(step.id)
        self._at = None
        return None

    def _occupied(self) -> NodeReport | None:
        """Wait until nothing runs here that an earlier controller started, but for the step that it left open.

        Return the stop of a node on which such a thing does not end.
        """
        left = others(self.node, self._past, frozenset(step.id for step in self.playbook.bound_steps))
        if not left:
            return None
        self.node.inquiry.forget()
        if (outcome := self.node.run.stop.outcome_before_next_step) is not None:
            return self._stopped_before(None, outcome)
        return NodeReport(
            node=self.node.name,
            outcome=NodeOutcome.LOST,
            reason=Reason.LOST,
            message=f"what an earlier controller of this run started does not end: {'; '.join(it.text for it in left)}",
            remedy="`stackplan unlock` ends it; then take the run up again",
        )

    def _finished(self) -> NodeReport | None:
        """Of a node that the run had finished, prove all that was proven once more; nothing is run there. Else None."""
        if not self._past.finished:
            return None
        self._reports = self._past.reports()
        self._done = [step for step in self.playbook.bound_steps if step.id in self._reports]
        return self._check_all()

    def _not_in_plan(self, step: BoundStep, before: Before) -> NodeReport | None:
        """Return the stop of a node on which something would run that its saved plan does not show, or None."""
        refusal = None if self.permit is None else self.permit.refusal(step, before.facts)
        if refusal is None:
            return None
        return NodeReport(
            node=self.node.name,
            outcome=NodeOutcome.STALE,
            stopped_at=step.id,
            message=f"{refusal}; it was not started",
            remedy=REMEDY,
        )

    def _require(self) -> NodeReport | None:
        """Make sure, once and before the first action, that the playbook's preconditions hold."""
        if self._required:
            return None
        if summed(self._preconditions) is not Status.HELD:
            node = self.node
            conditions = self.playbook.preconditions
            self._preconditions = settle(conditions, node.inquiry, node.run.clock, node.run.stop)
            self._tell_preconditions()
        if culprits := unmet(self._preconditions):
            return NodeReport(
                node=self.node.name,
                outcome=NodeOutcome.FAILED,
                reason=Reason.PRECONDITION,
                message=unmet_text(culprits),
            )
        self._required = True
        return self._without_room()

    def _without_room(self) -> NodeReport | None:
        """Return the stop of a node that lacks room for the snapshots of the steps to come, or None."""
        node, facts = self.node, self.node.inquiry.learn(())
        ahead = [step for step in self.playbook.bound_steps if step.id not in self._reports and _acts(step, facts)]
        lack = shortage(ahead, facts, node.run.id, node.inquiry)
        if lack is None:
            return None
        return NodeReport(
            node=node.name,
            outcome=NodeOutcome.FAILED,
            stopped_at=lack.step.id,
            reason=Reason.PRECONDITION,
            message=f"{lack.refusal.summary}; nothing was touched",
            remedy=lack.refusal.remedy,
        )

    def _proven(self, current: BoundStep) -> tuple[Proven, ...]:
        """Return what is asked again after `current`: of each step before it, what is cheap to ask."""
        return tuple(
            Proven(step.id, tuple(condition for condition in step.post if condition.recheck.after_each_step))
            for step in self._done
            if step is not current
        )

    def _check_all(self) -> NodeReport:
        """Check every postcondition of every step once more; what is known since nothing ran is not asked again."""
        node = self.node
        proven = tuple(
            Proven(step.id, tuple(condition for condition in step.post if condition.recheck.at_the_end))
            for step in self._done
        )
        conditions = tuple(condition for it in proven for condition in it.conditions)
        if node.run.stop.level is Level.END:
            return self._stopped_before(None, NodeOutcome.INTERRUPTED)
        checked = by_step(proven, settle(conditions, node.inquiry, node.run.clock, node.run.stop))
        broken = [self._broken_since(step, proofs) for step, proofs in checked if unmet(proofs)]
        for report in broken:
            self._tell(report)
        return self._stopped_by(broken[0]) if broken else NodeReport(node=node.name, outcome=NodeOutcome.OK)

    def _broken_since(self, step: str, proofs: tuple[Proof, ...]) -> StepReport:
        """Return the report of a step that was proven once and is no longer, when all steps are done."""
        broken = broke([(step, proofs)])
        assert broken is not None
        told = self._reports[step]
        again = {(report.kind, report.at): report for report in broken.conditions}
        return replace(
            told,
            outcome=StepOutcome.FAILED,
            reason=Reason.REGRESSION,
            broke=broken,
            conditions=tuple(
                again.get((report.kind, report.at), report) if report.phase is Phase.POST else report
                for report in told.conditions
            ),
            message=f"at the end {regression_text(broken)}",
        )

    def _tell(self, report: StepReport) -> None:
        report = replace(report, predicted=self.foretold.get(report.id, report.predicted))
        self._reports[report.id] = report
        self.node.run.recorder.record(StepEnded(node=self.node.name, step=report, time=self.node.run.clock.now()))

    def _stopped_by(self, report: StepReport) -> NodeReport:
        reason = None if report.reason is None else self._reason(report.reason)
        stopped = NodeReport(
            node=self.node.name,
            outcome=self._outcome(reason),
            stopped_at=report.id,
            reason=reason,
            message=report.message,
            remedy=self._way_on(reason),
        )
        steps = {str(step.id): step for step in self.playbook.bound_steps}
        return answer_failure(stopped, steps, self._reports, self.node, self._tell)

    def _outcome(self, reason: Reason | None) -> NodeOutcome:
        """Return how the node ends: `locked` where another run took it while it was away."""
        if reason is Reason.LOST and self.node.attachment.taken_by_another is not None:
            return NodeOutcome.LOCKED
        return NodeOutcome.FAILED if reason is None else _OF_NODE.get(reason, NodeOutcome.FAILED)

    def _way_on(self, reason: Reason | None) -> str | None:
        """Return what to do about a node that is lost."""
        return f"`stackplan resume {self.node.run.id}` takes the run up again" if reason is Reason.LOST else None

    def _reason(self, reason: Reason) -> Reason:
        """Return why the node stops. One that is lost after the operator has ended the run was not waited for."""
        ended = reason is Reason.LOST and self.node.run.stop.level is Level.END
        return Reason.INTERRUPTED if ended else reason

    def _stopped_before(self, step: str | None, outcome: NodeOutcome) -> NodeReport:
        """Return the end of a node that was about to go on; `step` None: to the last check."""
        turn = f"`{step}` started" if step is not None else "the last check"
        whose = "the operator stopped the run" if outcome is NodeOutcome.INTERRUPTED else "the rollout stopped"
        return NodeReport(
            node=self.node.name,
            outcome=outcome,
            stopped_at=step,
            reason=Reason.INTERRUPTED,
            message=f"{whose} before {turn}",
        )


def first_queries(playbook: BoundPlaybook) -> tuple[Query, ...]:
    """Return what is asked in the first round trip: the preconditions, and of the steps what is cheap."""
    cheap = [
        query
        for step in playbook.bound_steps
        for query in (
            *step.action_queries,
            *queries_of([it for it in (*step.pre, *step.post) if it.recheck.after_each_step]),
        )
    ]
    return tuple(dict.fromkeys((*queries_of(playbook.preconditions), *cheap)))


def _acts(step: BoundStep, facts: Facts) -> bool:
    """Tell whether a step will have to act, as far as that is known now."""
    known = tuple(it for it in step.post if all(query in facts.answers for query in it.queries))
    return step.step.always or summed(prove(known, facts)) is not Status.HELD


def _skipped(step: SkippedStep) -> StepReport:
    found = step.step
    return StepReport(id=found.id, outcome=StepOutcome.SKIPPED, at=found.at, name=found.name, why=found.why)
