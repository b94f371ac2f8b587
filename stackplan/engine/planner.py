"""The planner: says what it needs to know, is told, and knows a plan in the end. Pure; imports model only.

A live session, recorded facts and a test's dictionary drive the same planner. It asks everything in one batch; a
planner that predicts a chain of changes asks again, step by step, through the same two methods.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from stackplan.engine.bind import AnyStep, BoundPlaybook, BoundStep, SkippedStep, unique
from stackplan.engine.forecast import Standing, foresee
from stackplan.engine.headline import headline
from stackplan.engine.prove import Proof, answered, condition_reports, prove, summed
from stackplan.engine.wording import unmet_text
from stackplan.model.facts import Answer, Facts, Origin, Query
from stackplan.model.outcome import NodeOutcome, Phase, Reason, StepOutcome
from stackplan.model.report import NodeReport, StepReport
from stackplan.model.verdict import Status

_TO_DO = frozenset({StepOutcome.WOULD_CHANGE, StepOutcome.WOULD_RUN, StepOutcome.UNKNOWN})
_AT_REST = frozenset({StepOutcome.SATISFIED, StepOutcome.SKIPPED})


@dataclass(frozen=True, slots=True)
class StepPlan:
    step: AnyStep
    report: StepReport


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePlan:
    """What would happen on a node; `basis` is what that was concluded from, `report` the form that people read."""

    node: str
    basis: Facts
    steps: tuple[StepPlan, ...]
    report: NodeReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Planner:
    """The plan of one node in the making. `origin` and `taken` say where the answers come from."""

    node: str
    playbook: BoundPlaybook
    origin: Origin
    taken: str

    def asks(self) -> tuple[Query, ...]:
        """Return what has to be known next; possibly nothing, for a playbook that asks nothing."""
        return self.playbook.queries

    def tell(self, answers: Mapping[Query, Answer]) -> "Planner | NodePlan":
        """Take the answers; return the plan, or the planner that asks on. What is left out is unknown."""
        facts = Facts(self.node, self.origin, self.taken, answered(self.asks(), answers))
        standing = Standing()
        plans = []
        for step in self.playbook.steps:
            report = _plan_step(step, facts, standing)
            standing = standing.after(report)
            plans.append(StepPlan(step, report))
        preconditions = prove(self.playbook.preconditions, facts)
        return NodePlan(
            node=self.node,
            basis=facts,
            steps=tuple(plans),
            report=self._report(facts, preconditions, tuple(plan.report for plan in plans)),
        )

    def _report(self, facts: Facts, preconditions: tuple[Proof, ...], steps: tuple[StepReport, ...]) -> NodeReport:
        failing = next((step for step in steps if step.outcome is StepOutcome.WOULD_FAIL), None)
        at_rest = all(step.outcome in _AT_REST for step in steps)
        # As in a run: the preconditions stand before the first action, so they hold up nothing where nothing would run.
        barred = summed(preconditions) is not Status.HELD and not at_rest
        refused = barred and summed(preconditions) is Status.NOT_HELD
        unproven = tuple(proof for proof in preconditions if not proof.verdict.held)
        outcome = NodeOutcome.OK if at_rest else NodeOutcome.PENDING
        return NodeReport(
            node=self.node,
            outcome=NodeOutcome.FAILED if refused or failing else outcome,
            steps=steps,
            stopped_at=None if refused or failing is None else failing.id,
            reason=Reason.PRECONDITION if refused else None if failing is None else failing.reason,
            summary=headline(self.playbook, facts),
            message=unmet_text(unproven) if barred else None if failing is None else failing.message,
            preconditions=condition_reports(Phase.PRE, preconditions),
        )


def drive(planner: Planner, ask: Callable[[tuple[Query, ...]], Mapping[Query, Answer]]) -> NodePlan:
    """Return the plan, answering what the planner asks as long as it asks."""
    told = planner.tell(ask(unique(planner.asks())))
    while isinstance(told, Planner):
        told = told.tell(ask(unique(told.asks())))
    return told


def _plan_step(step: AnyStep, facts: Facts, standing: Standing) -> StepReport:
    if isinstance(step, SkippedStep):
        found = step.step
        return StepReport(id=found.id, outcome=StepOutcome.SKIPPED, at=found.at, name=found.name, why=found.why)
    assert isinstance(step, BoundStep)
    return foresee(step, facts, standing)
