"""What is told of a node without its own name, which may be all that sets it apart from others (a path); pure."""

import re
from collections.abc import Callable
from dataclasses import replace

from stackplan.model.change import Change
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.report import NodeReport, StepReport

SOME_NODE = "<node>"
"""What stands in place of the name."""


def nameless(text: str, name: str) -> str:
    """Return a text with the name replaced where it stands as a word of its own."""
    return re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", SOME_NODE, text)


def without_own_name(node: NodeReport) -> NodeReport:
    """Return the report with the node's name replaced in messages, remedies, changes and findings."""

    def said(text: str) -> str:
        return nameless(text, node.node)

    return replace(
        node,
        message=node.message and said(node.message),
        remedy=node.remedy and said(node.remedy),
        steps=tuple(_step(it, said) for it in node.steps),
        diagnoses=tuple(_diagnosis(it, said) for it in node.diagnoses),
    )


def _step(step: StepReport, said: Callable[[str], str]) -> StepReport:
    return replace(
        step,
        message=step.message and said(step.message),
        changes=tuple(_change(it, said) for it in step.changes),
        diagnoses=tuple(_diagnosis(it, said) for it in step.diagnoses),
    )


def _change(change: Change, said: Callable[[str], str]) -> Change:
    return replace(change, name=said(change.name))


def _diagnosis(diagnosis: Diagnosis, said: Callable[[str], str]) -> Diagnosis:
    return replace(diagnosis, summary=said(diagnosis.summary), remedy=diagnosis.remedy and said(diagnosis.remedy))
