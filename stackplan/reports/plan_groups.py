"""The nodes of a plan by what would be done on them, where they are too many for each to be told in full; pure."""

from collections.abc import Iterable, Iterator

from stackplan.model.outcome import NodeOutcome
from stackplan.model.regular import regular
from stackplan.model.report import ConditionReport, NodeReport, StepReport
from stackplan.reports.own_name import told_of, without_own_name
from stackplan.reports.safe import safe
from stackplan.reports.wording import change_text, node_end, step_sentence, step_word

Group = tuple[tuple[str, ...], NodeReport]

ENOUGH = 8
"""Groups that are told in full each; of more, one of each shape is."""
_FIGURES = regular(r"\d[\d.,]*")
_WELL = (NodeOutcome.OK, NodeOutcome.PENDING)


def by_work(nodes: Iterable[NodeReport]) -> list[Group]:
    """Return the nodes with those together on which the same would be done: where it would stop first, then most first.

    What was only observed (free space, counts, sizes) sets none apart, nor does a node's own name; a group is told by
    its first node.
    """
    found: dict[object, list[NodeReport]] = {}
    for node in nodes:
        found.setdefault(_work(without_own_name(node)), []).append(node)
    ordered = sorted(found.values(), key=lambda alike: (alike[0].outcome in _WELL, -len(alike)))
    return [(tuple(node.node for node in alike), told_of(alike)) for alike in ordered]


def by_shape(groups: Iterable[Group]) -> list[list[Group]]:
    """Return the groups with those together whose steps come to the same outcomes and change the same things.

    From and to what they change them may differ, and by which command.
    """
    found: dict[object, list[Group]] = {}
    for group in groups:
        found.setdefault(_shape(group[1]), []).append(group)
    return [*found.values()]


def differing(node: NodeReport, model: NodeReport) -> list[str]:
    """Return in which ways a plan is not the one of `model`, a line each."""
    lines = [safe(node.summary)] if node.summary and node.summary != model.summary else []
    lines += [] if node.outcome in _WELL or node.steps else [_ended(node)]
    others = {step.id: step for step in model.steps}
    for step in node.steps:
        lines += [f"{safe(step.id, 60)}: {it}" for it in _step_differing(step, others.get(step.id))]
    return lines or ["its conditions stand otherwise"]


def _ended(node: NodeReport) -> str:
    return f"{node_end(node)}: {safe(node.message)}" if node.message else node_end(node)


def _step_differing(step: StepReport, other: StepReport | None) -> Iterator[str]:
    if other is None or (step.outcome, step.reason) != (other.outcome, other.reason):
        yield f"{step_word(step)} {step_sentence(step)}".rstrip()
    here, there = step.predicted or (), (other.predicted if other is not None else None) or ()
    yield from (change_text(it, step) for it in here if it not in there)
    if here:
        names = {(it.kind, it.name) for it in here}
        yield from (f"{safe(it.name, 200)} not changed" for it in there if (it.kind, it.name) not in names)
    command = _command(step)
    if command is not None and (other is None or command != _command(other)):
        yield f"$ {safe(command)}"


def _work(node: NodeReport) -> object:
    steps = tuple((_standing(step), _command(step), step.predicted) for step in node.steps)
    return _node(node), node.summary, steps


def _shape(node: NodeReport) -> object:
    steps = tuple((_standing(step), _things(step)) for step in node.steps)
    return _node(node), steps


def _node(node: NodeReport) -> object:
    return node.outcome, node.reason, _figureless(node.message), _conditions(node.preconditions)


def _standing(step: StepReport) -> object:
    found = tuple(it.code or _figureless(it.summary) for it in step.diagnoses)
    broke = None if step.broke is None else (step.broke.step, _conditions(step.broke.conditions))
    return step.id, step.outcome, step.reason, _figureless(step.message), found, broke, _conditions(step.conditions)


def _conditions(conditions: Iterable[ConditionReport]) -> object:
    return tuple((it.phase, it.text, it.status, it.predicted) for it in conditions)


def _things(step: StepReport) -> object:
    return None if step.predicted is None else frozenset((it.kind, it.name) for it in step.predicted)


def _command(step: StepReport) -> str | None:
    return None if step.action is None else step.action.command


def _figureless(text: str | None) -> str | None:
    return None if text is None else _FIGURES.sub("#", text)
