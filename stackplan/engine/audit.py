"""The audit of a node's environment as a part of its plan: what is asked beside the playbook's own questions, and what
that shows. Pure; nothing that a plan concludes or a saved plan rests on comes from it.
"""

from collections.abc import Iterator
from functools import partial

from stackplan.audit.audit import audit
from stackplan.audit.subject import Subject, subject
from stackplan.engine.bind import BoundPlaybook
from stackplan.engine.guard import guarded
from stackplan.engine.outlook import Outlook
from stackplan.model.concern import Concern
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.facts import Facts
from stackplan.model.kind import ActionKind, ConditionKind


def subjects(playbook: BoundPlaybook) -> tuple[Subject, ...]:
    """Return what is to be audited on a node, for each user of the playbook that is concerned with anything."""
    concerns: dict[str | None, list[Concern]] = {}
    for user, kind in _kinds(playbook):
        concerns.setdefault(user, []).extend(_concerns(kind))
    found = (subject(user, every) for user, every in concerns.items())
    return tuple(it for it in found if it is not None)


def findings(audited: tuple[Subject, ...], outlook: Outlook) -> tuple[Diagnosis, ...]:
    """Return what the node's answers show. Whatever two users see alike is said once."""
    found = [it for one in audited for it in outlook.recall_now("audit", one, partial(_look, one))]
    return tuple(dict.fromkeys(found))


def _look(one: Subject, facts: Facts) -> tuple[Diagnosis, ...]:
    return audit(one, facts.answers[one.query])


def _kinds(playbook: BoundPlaybook) -> Iterator[tuple[str | None, ActionKind | ConditionKind]]:
    for condition in playbook.preconditions:
        yield from ((condition.user, kind) for kind in condition.kinds)
    for step in playbook.bound_steps:
        yield step.step.user, step.action
        for condition in (*step.pre, *step.post):
            yield from ((condition.user, kind) for kind in condition.kinds)


def _concerns(kind: ActionKind | ConditionKind) -> tuple[Concern, ...]:
    return guarded(lambda: tuple(kind.concerns()), lambda _: ())
