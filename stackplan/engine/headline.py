"""The line above a node's steps: what its facts tell of the machine. Pure; imports model only."""

from stackplan.engine.bind import BoundPlaybook
from stackplan.engine.guard import guarded
from stackplan.model.facts import Facts
from stackplan.model.kind import ConditionKind


def headline(playbook: BoundPlaybook, facts: Facts) -> str | None:
    """Return the first headline that a condition gives from these facts, those of the preconditions first."""
    steps = (condition for step in playbook.bound_steps for condition in step.post)
    lines = (
        _headline(kind, facts.seen_by(condition.user))
        for condition in (*playbook.preconditions, *steps)
        for kind in condition.kinds
    )
    return next((line for line in lines if line), None)


def _headline(kind: ConditionKind, facts: Facts) -> str | None:
    return guarded(lambda: kind.headline(facts), lambda _: None)
