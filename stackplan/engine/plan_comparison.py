"""What a change means for each node: the plans of the old and the new playbook, step by step. Pure; imports model only.

Places in files and words that only the playbook's author chose are no difference; what would happen is.
"""

from collections.abc import Mapping, Sequence

from stackplan.model.comparison import NodeOutlook, StepOutlook
from stackplan.model.report import NodeReport, StepReport


def compare_plans(
    old: Sequence[NodeReport], new: Sequence[NodeReport], renamed: Mapping[str, str]
) -> tuple[NodeOutlook, ...]:
    """Return the outlook of each node of either plan, in the order of the new one, nodes of the old one alone last.

    `renamed` gives the new ids of steps that were called otherwise.
    """
    before, after = {it.node: it for it in old}, {it.node: it for it in new}
    return tuple(
        _outlook(name, before.get(name), after.get(name), renamed) for name in dict.fromkeys((*after, *before))
    )


def _outlook(name: str, old: NodeReport | None, new: NodeReport | None, renamed: Mapping[str, str]) -> NodeOutlook:
    return NodeOutlook(
        node=name,
        before=None if old is None else old.outcome,
        after=None if new is None else new.outcome,
        message=None if new is None else new.message,
        steps=_steps(() if old is None else old.steps, () if new is None else new.steps, renamed),
    )


def _steps(
    old: tuple[StepReport, ...], new: tuple[StepReport, ...], renamed: Mapping[str, str]
) -> tuple[StepOutlook, ...]:
    before, after = {renamed.get(it.id, it.id): it for it in old}, {it.id: it for it in new}
    return tuple(
        StepOutlook(id=name, before=before.get(name), after=after.get(name))
        for name in dict.fromkeys((*after, *before))
        if _meaning(before.get(name)) != _meaning(after.get(name))
    )


def _meaning(step: StepReport | None) -> object:
    if step is None:
        return None
    command = step.action.command if step.action else None
    return step.outcome, step.reason, step.message, command, step.predicted, step.details
