"""What is told of a node without its own name, which may be all that sets it apart from others (a path); pure."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from stackplan.model.change import Change
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.report import ActionReport, ConditionReport, NodeReport, StepReport

SOME_NODE = "<node>"
"""What stands in place of the name."""

Said = Callable[[str], str]


def nameless(text: str, name: str) -> str:
    """Return a text with the name replaced where it stands as a word of its own.

    A name of letters alone may be a word of any sentence: it is taken for the node's beside a slash.
    """
    if name not in text:
        return text
    word = re.escape(name)
    pattern = rf"(?<=/){word}(?![\w-])|(?<![\w.-]){word}(?=/)" if name.isalpha() else rf"(?<![\w.-]){word}(?![\w-])"
    return re.sub(pattern, SOME_NODE, text)


def told_of(alike: Sequence[NodeReport]) -> NodeReport:
    """Return what tells of nodes that are alike but for their names: the first, with its name where it is alone."""
    return alike[0] if len(alike) == 1 else without_own_name(alike[0])


def without_own_name(node: NodeReport) -> NodeReport:
    """Return the report with the node's name replaced wherever a text of it may hold it; observations stay."""

    def said(text: str) -> str:
        return nameless(text, node.node)

    return replace(
        node,
        message=node.message and said(node.message),
        remedy=node.remedy and said(node.remedy),
        preconditions=tuple(_condition(it, said) for it in node.preconditions),
        steps=tuple(_step(it, said) for it in node.steps),
        diagnoses=tuple(_diagnosis(it, said) for it in node.diagnoses),
    )


def _step(step: StepReport, said: Said) -> StepReport:
    return replace(
        step,
        message=step.message and said(step.message),
        action=step.action and _action(step.action, said),
        predicted=None if step.predicted is None else tuple(_change(it, said) for it in step.predicted),
        details=tuple(said(it) for it in step.details),
        changes=tuple(_change(it, said) for it in step.changes),
        conditions=tuple(_condition(it, said) for it in step.conditions),
        diagnoses=tuple(_diagnosis(it, said) for it in step.diagnoses),
    )


def _action(action: ActionReport, said: Said) -> ActionReport:
    command = action.command and said(action.command)
    return action if command == action.command else replace(action, command=command)


# Of very many conditions and changes hardly one has the name: those are not made again.
def _condition(condition: ConditionReport, said: Said) -> ConditionReport:
    text = said(condition.text)
    return condition if text == condition.text else replace(condition, text=text)


def _change(change: Change, said: Said) -> Change:
    name = said(change.name)
    return change if name == change.name else replace(change, name=name)


def _diagnosis(diagnosis: Diagnosis, said: Said) -> Diagnosis:
    return replace(diagnosis, summary=said(diagnosis.summary), remedy=diagnosis.remedy and said(diagnosis.remedy))
