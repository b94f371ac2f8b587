"""How far a plan has come on a node, step by step, up to its end. Pure; imports model only."""

from collections.abc import Sequence
from dataclasses import field, replace
from functools import partial

from stackplan.engine.bind import AnyStep, BoundCondition, BoundStep, SkippedStep, unique
from stackplan.engine.forecast import at_rest, foresee
from stackplan.engine.foresight import Breach, no_longer
from stackplan.engine.outlook import Outlook
from stackplan.engine.snapshot_outlook import room_notes, room_queries
from stackplan.engine.standing import Standing
from stackplan.engine.wording import regression_text
from stackplan.model.facts import Query
from stackplan.model.frozen import dataclass
from stackplan.model.outcome import Reason, StepOutcome
from stackplan.model.report import StepReport


@dataclass(frozen=True, slots=True)
class StepPlan:
    """A step, its forecast, and all questions that the forecast rests on, dry runs included."""

    step: AnyStep
    report: StepReport
    queries: tuple[Query, ...] = ()


@dataclass(frozen=True, slots=True)
class Costly:
    """A condition of the step at `index` that is checked once more when all steps are done; `then` is how
    its own step is foretold to leave the node.
    """

    index: int
    condition: BoundCondition
    then: Outlook


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """The steps that are behind, and how the node looks after them."""

    outlook: Outlook
    standing: Standing = field(default_factory=Standing)
    plans: tuple[StepPlan, ...] = ()
    costly: tuple[Costly, ...] = ()

    def dry_runs(self, ahead: Sequence[AnyStep]) -> tuple[tuple[Query, ...], ...]:
        """Return the dry runs of the next steps, a tuple a step: of the first that acts and of all before it, for those
        find the node as it looks now.
        """
        found: list[tuple[Query, ...]] = []
        earlier = self._earlier
        for step in ahead:
            resting = isinstance(step, SkippedStep) or self._at_rest(step, earlier)
            wanted = isinstance(step, BoundStep) and self.standing.failing is None
            dry = self._forecasts(step) if isinstance(step, BoundStep) and wanted else ()
            found.append(dry if resting or not isinstance(step, BoundStep) else (*dry, *self._rooms(step)))
            if not resting:
                break
            earlier += [step] if isinstance(step, BoundStep) else []
        return tuple(found)

    def _at_rest(self, step: BoundStep, earlier: Sequence[BoundStep]) -> bool:
        return self.outlook.recall_turn(
            "at rest", step, lambda outlook: at_rest(step, outlook, self.standing, earlier), self.standing, len(earlier)
        )

    @property
    def _earlier(self) -> list[BoundStep]:
        return [plan.step for plan in self.plans if isinstance(plan.step, BoundStep)]

    def _rooms(self, step: BoundStep) -> tuple[Query, ...]:
        return self.outlook.recall_now("rooms", step, partial(room_queries, step))

    def _with_room(self, step: BoundStep, report: StepReport) -> StepReport:
        """Return the report with what its snapshots take, unless an earlier step that may act has told it."""
        if not self._rooms(step) or report.outcome is StepOutcome.SATISFIED or self.standing.failing is not None:
            return report
        before = [it.step for it in self.plans if it.report.outcome is not StepOutcome.SATISFIED]
        told = {query for it in before if isinstance(it, BoundStep) for query in self._rooms(it)}
        return replace(report, diagnoses=(*report.diagnoses, *room_notes(step, self.outlook.now, told)))

    def _forecasts(self, step: BoundStep) -> tuple[Query, ...]:
        return self.outlook.recall("forecasts", step, step.forecasts)

    def taken(self, step: AnyStep, dry_runs: tuple[Query, ...]) -> "Course":
        """Return the course with the next step, whose dry runs were answered, behind it."""
        if isinstance(step, SkippedStep):
            found = step.step
            report = StepReport(id=found.id, outcome=StepOutcome.SKIPPED, at=found.at, name=found.name, why=found.why)
            return replace(self, plans=(*self.plans, StepPlan(step, report)))
        earlier = self._earlier
        forecast = self.outlook.recall_turn(
            "foresee", step, lambda outlook: foresee(step, outlook, self.standing, earlier), self.standing
        )
        prediction = forecast.prediction
        outlook = self.outlook if prediction is None else self.outlook.after(step, prediction)
        queries = unique((*step.queries, *dry_runs))
        acts = forecast.report.outcome is not StepOutcome.SATISFIED
        return Course(
            outlook=outlook,
            standing=replace(forecast.standing, quiet_from=len(earlier)) if acts else forecast.standing,
            plans=(*self.plans, StepPlan(step, self._with_room(step, forecast.report), queries)),
            costly=(*self.costly, *_costly(len(self.plans), step, outlook)),
        )

    def ended(self) -> tuple[StepPlan, ...]:
        """Return the plans of all steps. As in a run, costly conditions are looked at once more, and what would no
        longer hold then is held against the step that it belongs to.
        """
        plans = list(self.plans)
        for it in self.costly if self.standing.failing is None else ():
            report = plans[it.index].report
            open_ = report.outcome is StepOutcome.WOULD_FAIL or self.standing.doubt(it.condition.queries) is not None
            if open_ or not self.outlook.moves(it.condition):
                continue
            if culprits := no_longer([it.condition], it.then, self.outlook):
                broke = Breach(report.id, culprits).report()
                message = f"at the end {regression_text(broke)}"
                failed = replace(report, outcome=StepOutcome.WOULD_FAIL, reason=Reason.REGRESSION, broke=broke)
                plans[it.index] = replace(plans[it.index], report=replace(failed, message=message))
        return tuple(plans)


def _costly(index: int, step: BoundStep, then: Outlook) -> tuple[Costly, ...]:
    return tuple(
        Costly(index, condition, then)
        for condition in step.post
        if condition.recheck.at_the_end and not condition.recheck.after_each_step
    )
