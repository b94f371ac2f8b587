"""What a saved plan lets a run do on one node: nothing once it has moved, and no step that is not in the plan. Pure."""

from stackplan.engine.basis import find
from stackplan.engine.bind import BoundPlaybook, BoundStep
from stackplan.engine.conclusion import Conclusion
from stackplan.engine.stale import Moved, compare_bases
from stackplan.model.count import counted
from stackplan.model.diagnosis import Diagnosis, Severity
from stackplan.model.facts import Facts
from stackplan.model.frozen import dataclass
from stackplan.model.kind import CannotAct
from stackplan.model.outcome import NodeOutcome
from stackplan.model.report import NodeReport
from stackplan.model.secret import Redactor

FIRST = 3
MANY = 8
"""So many things that moved are told each; of more, the first three."""
REMEDY = "make a new plan with `stackplan plan -o` and look at it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Permit:
    """A node's part of a saved plan, held against the node itself when its turn comes."""

    plan: Conclusion
    redactor: Redactor

    def moved(self, playbook: BoundPlaybook, facts: Facts) -> tuple[Moved, ...]:
        """Return what moved on the node; `facts` are from before its first step."""
        return compare_bases(self.plan.basis, find(playbook, facts, self.redactor))

    def refusal(self, step: BoundStep, facts: Facts) -> str | None:
        """Return why the step may not run as things stand now, in one sentence, or None when it may."""
        job = step.write_job(facts)
        if isinstance(job, CannotAct) or not job.stages:
            return None
        planned = next(it for it in self.plan.steps if it.id == step.id)
        if not planned.acts:
            return f"`{step.id}` would have to run now, and the plan says that it is {planned.outcome.value}"
        command = self.redactor.text(job.display)
        if planned.command is not None and planned.command != command:
            return f"`{step.id}` would now run `{command}`, and the plan shows `{planned.command}`"
        return None


def stale(node: str, moved: tuple[Moved, ...], *, done: bool = False) -> NodeReport:
    """Return the report of a node that is not as the plan found it; nothing ran there. Of much that moved the first is
    told. `done`: nothing was left to do, although the plan had something to do: what moved then says little.
    """
    causes = [it for it in moved if not it.follows]
    shown = causes if len(causes) <= (FIRST if done else MANY) else causes[:FIRST]
    told = [it.diagnosis() for it in shown]
    if more := len(causes) - len(shown):
        applied = f"and {more} more, as is to be expected"
        summary = (
            applied if done else f"and {counted(more, 'more thing')} moved; `stackplan plan` tells how it stands now"
        )
        told.append(Diagnosis(summary=summary, severity=Severity.NOTE))
    told += [it.diagnosis() for it in moved if it.follows]
    why = "every step of it is satisfied by now, so it was applied already or somebody did the same"
    return NodeReport(
        node=node,
        outcome=NodeOutcome.STALE,
        message=f"the saved plan is stale: {why}" if done else "the saved plan is stale; nothing ran on this node",
        remedy=f"there is nothing left to do here; {REMEDY} if there should be" if done else REMEDY,
        diagnoses=tuple(told),
    )
