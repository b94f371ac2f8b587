"""What a plan says of one node, and what that was concluded from, in a form that can be kept and compared. Pure."""

from stackplan.engine.basis import Basis, find
from stackplan.engine.bind import BoundPlaybook
from stackplan.engine.planner import NodePlan
from stackplan.engine.redaction import redacted
from stackplan.engine.rendered_step import rendered, rendered_preconditions
from stackplan.model.change import Change
from stackplan.model.frozen import dataclass
from stackplan.model.outcome import NodeOutcome, Reason, StepOutcome
from stackplan.model.playbook import Playbook
from stackplan.model.report import StepReport
from stackplan.model.secret import Redactor

ACTING = frozenset({StepOutcome.WOULD_CHANGE, StepOutcome.WOULD_RUN, StepOutcome.UNKNOWN})
"""What a plan says of a step that is meant to run, or to run if what is not known yet makes it necessary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """What the plan says of a step. `rendered` is the step as it would run; `command` None: not known, or nothing runs;
    `predicted` None: what would change is not known."""

    id: str
    outcome: StepOutcome
    rendered: object
    reason: Reason | None = None
    message: str | None = None
    command: str | None = None
    predicted: tuple[Change, ...] | None = None

    @property
    def acts(self) -> bool:
        return self.outcome in ACTING


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """All that is concluded of one node; `preconditions` are the playbook's own, as rendered for it."""

    outcome: NodeOutcome
    summary: str | None
    preconditions: object
    steps: tuple[PlannedStep, ...]
    basis: Basis


def conclude(playbook: BoundPlaybook, plan: NodePlan, redactor: Redactor) -> Conclusion:
    """Return what a plan of one node says. Nothing in it is secret."""
    report = redacted(plan.report, redactor)
    told = {step.id: step for step in report.steps}
    return Conclusion(
        outcome=report.outcome,
        summary=report.summary,
        preconditions=rendered_preconditions(playbook.playbook),
        steps=tuple(_planned(rendered(step.step), told[step.id]) for step in playbook.steps),
        basis=find(playbook, plan.basis, redactor),
    )


def _planned(step: object, report: StepReport) -> PlannedStep:
    return PlannedStep(
        id=report.id,
        outcome=report.outcome,
        rendered=step,
        reason=report.reason,
        message=report.message,
        command=None if report.action is None else report.action.command,
        predicted=report.predicted,
    )


def renderings(playbook: Playbook) -> tuple[tuple[str | None, object], ...]:
    """Return the rendered preconditions (under None) and steps (under their ids) of the playbook of one node."""
    return ((None, rendered_preconditions(playbook)), *((str(step.id), rendered(step)) for step in playbook.steps))
