"""What the facts tell of a machine: the line above its steps, and what may set it apart. Pure; imports model only."""

from collections.abc import Iterator
from functools import partial

from stackplan.engine.bind import BoundPlaybook
from stackplan.engine.guard import guarded
from stackplan.engine.outlook import Outlook
from stackplan.model.facts import Facts
from stackplan.model.kind import ActionKind, ConditionKind


def headline(playbook: BoundPlaybook, facts: Facts) -> str | None:
    """Return the first headline that a condition gives from these facts, those of the preconditions first."""
    lines = (_headline(kind, facts.seen_by(user)) for kind, user in _kinds(playbook) if isinstance(kind, ConditionKind))
    return next((line for line in lines if line), None)


def traits(playbook: BoundPlaybook, outlook: Outlook) -> dict[str, str]:
    """Return what may set the node apart, by name, in the order of the playbook; of one name the first word counts."""
    found: dict[str, str] = {}
    for kind, user in _kinds(playbook):
        for name, text in outlook.recall_now("traits", kind, partial(_traits, kind, user)).items():
            found.setdefault(name, text)
    return found


def _kinds(playbook: BoundPlaybook) -> Iterator[tuple[ConditionKind | ActionKind, str | None]]:
    """Yield every kind that looks at the node, with the user who looks: a step's conditions ahead of its action."""
    for condition in playbook.preconditions:
        yield from ((kind, condition.user) for kind in condition.kinds)
    for step in playbook.bound_steps:
        for condition in (*step.pre, *step.post):
            yield from ((kind, condition.user) for kind in condition.kinds)
        yield step.action, step.step.user


def _headline(kind: ConditionKind, facts: Facts) -> str | None:
    return guarded(lambda: kind.headline(facts), lambda _: None)


def _traits(kind: ConditionKind | ActionKind, user: str | None, facts: Facts) -> dict[str, str]:
    seen = facts.seen_by(user)
    return guarded(lambda: {str(name): str(text) for name, text in kind.traits(seen).items()}, lambda _: {})
