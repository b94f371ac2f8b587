"""The planner: says what it needs to know, is told, and knows a plan in the end. Pure; imports model only.

A live session, recorded facts and a test's dictionary drive the same planner. It asks everything that conditions and
actions want to know in one batch. Then it goes through the steps on facts that their predictions are laid over, and
asks once more for each step whose prediction rests on a dry run; steps that leave the node as it is share one batch.
"""

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import partial

from stackplan.audit.subject import Subject
from stackplan.engine.audit import findings, subjects
from stackplan.engine.bind import BoundPlaybook, BoundStep, unique
from stackplan.engine.course import Course, StepPlan
from stackplan.engine.headline import headline, traits
from stackplan.engine.memo import Memo
from stackplan.engine.outlook import Outlook, begin
from stackplan.engine.prove import Proof, answered, condition_reports, summed
from stackplan.engine.wording import unmet_text
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.facts import Answer, Facts, Origin, Query
from stackplan.model.frozen import dataclass
from stackplan.model.outcome import NodeOutcome, Phase, Reason, StepOutcome
from stackplan.model.report import NodeReport, StepReport
from stackplan.model.verdict import Status

_AT_REST = frozenset({StepOutcome.SATISFIED, StepOutcome.SKIPPED})


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePlan:
    """What would happen on a node; `basis` is what that was concluded from, `report` the form that people read."""

    node: str
    basis: Facts
    steps: tuple[StepPlan, ...]
    report: NodeReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Planner:
    """The plan of one node in the making. `origin` and `taken` say where the answers come from.

    `course` is None before the first answers. `dry_runs` are those of the first steps, as many as were asked for;
    `pending` are those that it waits for. Planners of the same playbook that take turns may share a `memo`. `audit`
    False leaves the shells and settings of the node alone.
    """

    node: str
    playbook: BoundPlaybook
    origin: Origin
    taken: str
    course: Course | None = None
    dry_runs: tuple[tuple[Query, ...], ...] = ()
    pending: tuple[Query, ...] = ()
    memo: Memo = field(default_factory=Memo, compare=False, repr=False)
    audit: bool = True

    def asks(self) -> tuple[Query, ...]:
        """Return what has to be known next; possibly nothing, for a playbook that asks nothing."""
        if self.course is not None:
            return self.pending
        queries = self.memo.recall("queries", self.playbook, (), lambda: self.playbook.queries)
        # Last, so that a profile that takes long holds up no other answer.
        return (*queries, *(it.query for it in self._audited))

    @property
    def _audited(self) -> tuple[Subject, ...]:
        return self.memo.recall("subjects", self.playbook, (), partial(subjects, self.playbook)) if self.audit else ()

    def _findings(self, outlook: Outlook, *, resting: bool) -> tuple[Diagnosis, ...]:
        """Return what the audit shows; where nothing would run, nothing that matters to a change alone."""
        audited = self._audited
        if resting:
            audited = self.memo.recall(
                "subjects at rest", self.playbook, (), lambda: tuple(it.at_rest for it in audited)
            )
        return findings(audited, outlook)

    @property
    def awaited(self) -> str:
        """What is waited for until the answers are there, in words for people."""
        if self.course is None:
            return "what the playbook asks"
        asked = set(self.pending)
        running = [
            f"`{step.id}` ({step.action.describe()})"
            for step, queries in zip(self.playbook.steps, self.dry_runs, strict=False)
            if isinstance(step, BoundStep) and asked.intersection(queries)
        ]
        return f"the dry run of {', '.join(running)}"

    def tell(self, answers: Mapping[Query, Answer]) -> "Planner | NodePlan":
        """Take the answers; return the plan, or the planner that asks on. What is left out is unknown."""
        told = answered(self.asks(), answers)
        if self.course is None:
            facts = Facts(self.node, self.origin, self.taken, told)
            course = Course(outlook=begin(facts, self.playbook, self.memo))
        else:
            course = replace(self.course, outlook=self.course.outlook.learnt(told))
        return self._go_on(course)

    def _go_on(self, course: Course) -> "Planner | NodePlan":
        """Go through steps up to the first that waits for a dry run, or to the end."""
        steps, dry_runs = self.playbook.steps, self.dry_runs
        for index in range(len(course.plans), len(steps)):
            if index >= len(dry_runs):
                ahead = course.dry_runs(steps[index:])
                dry_runs = (*dry_runs, *ahead)
                known = course.outlook.now.answers
                if pending := unique([query for queries in ahead for query in queries if query not in known]):
                    return replace(self, course=course, dry_runs=dry_runs, pending=pending)
            course = course.taken(steps[index], dry_runs[index])
        return self._plan(course)

    def _plan(self, course: Course) -> NodePlan:
        plans, outlook = course.ended(), course.outlook
        preconditions = outlook.prove_now(self.playbook.preconditions)
        report = self._report(outlook, preconditions, tuple(plan.report for plan in plans))
        return NodePlan(node=self.node, basis=outlook.now, steps=plans, report=report)

    def _report(self, outlook: Outlook, preconditions: tuple[Proof, ...], steps: tuple[StepReport, ...]) -> NodeReport:
        failing = next((step for step in steps if step.outcome is StepOutcome.WOULD_FAIL), None)
        resting = all(step.outcome in _AT_REST for step in steps)
        # As in a run: the preconditions stand before the first action, so they hold up nothing where nothing would run.
        barred = summed(preconditions) is not Status.HELD and not resting
        refused = barred and summed(preconditions) is Status.NOT_HELD
        unproven = tuple(proof for proof in preconditions if not proof.verdict.held)
        outcome = NodeOutcome.OK if resting else NodeOutcome.PENDING
        return NodeReport(
            node=self.node,
            outcome=NodeOutcome.FAILED if refused or failing else outcome,
            steps=steps,
            stopped_at=None if refused or failing is None else failing.id,
            reason=Reason.PRECONDITION if refused else None if failing is None else failing.reason,
            summary=outlook.recall_now("headline", self.playbook, partial(headline, self.playbook)),
            message=unmet_text(unproven) if barred else None if failing is None else failing.message,
            preconditions=condition_reports(Phase.PRE, preconditions),
            diagnoses=self._findings(outlook, resting=resting),
            traits=traits(self.playbook, outlook),
        )


def drive(planner: Planner, ask: Callable[[tuple[Query, ...]], Mapping[Query, Answer]]) -> NodePlan:
    """Return the plan, answering what the planner asks as long as it asks."""
    told = planner.tell(ask(unique(planner.asks())))
    while isinstance(told, Planner):
        told = told.tell(ask(unique(told.asks())))
    return told
