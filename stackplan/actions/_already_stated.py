"""What a playbook states ahead of a step, so that nobody is told to state it once more. Pure."""

from collections.abc import Iterator

from stackplan.model.condition import Combination, Condition
from stackplan.model.playbook import Action, Playbook


def ahead_of(playbook: Playbook | None, step: str, kind: str) -> Iterator[Condition]:
    """Yield the conditions of a kind that have to hold before the action of `step`, what earlier steps prove included.

    What stands under `any` or `not` states nothing by itself.
    """
    if playbook is None:
        return
    yield from _of_kind(playbook.preconditions, kind)
    for it in playbook.steps:
        yield from _of_kind(it.preconditions, kind)
        if it.id == step:
            return
        yield from _of_kind(it.postconditions, kind)


def behind(playbook: Playbook | None, step: str, kind: str) -> Iterator[tuple[str, Action]]:
    """Yield the steps behind `step` whose action is of a kind, with their actions."""
    passed = False
    for it in playbook.steps if playbook is not None else ():
        if passed and it.action.kind == kind:
            yield it.id, it.action
        passed = passed or it.id == step


def _of_kind(conditions: tuple[Condition, ...], kind: str) -> Iterator[Condition]:
    for it in conditions:
        if it.combination is None and it.kind == kind:
            yield it
        elif it.combination is Combination.ALL:
            yield from _of_kind(it.operands, kind)
