"""What a change means for each node: the plans of the old and the new playbook, step by step. Pure; imports model only.

Places in files and words that only the playbook's author chose are no difference; what would happen is. Nor is the name
of an environment one, where the node tells that it is the same folder.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from stackplan.model.comparison import NodeOutlook, StepOutlook
from stackplan.model.environment_place import real_place
from stackplan.model.facts import Facts
from stackplan.model.report import NodeReport, StepReport


def compare_plans(
    old: Sequence[NodeReport],
    new: Sequence[NodeReport],
    renamed: Mapping[str, str],
    recorded: Mapping[str, Facts] | None = None,
) -> tuple[NodeOutlook, ...]:
    """Return the outlook of each node of either plan, in the order of the new one, nodes of the old one alone last.

    `renamed` gives the new ids of steps that were called otherwise; `recorded`, by node, are the facts that the plans
    are made of.
    """
    before, after = {it.node: it for it in old}, {it.node: it for it in new}
    folders = {name: _folders(facts) for name, facts in (recorded or {}).items()}
    return tuple(
        _outlook(name, before.get(name), after.get(name), renamed, folders.get(name, {}))
        for name in dict.fromkeys((*after, *before))
    )


def _folders(facts: Facts) -> dict[str, str]:
    """Return the real folders of the environments that are called by more than one name, by each of these names."""
    asked = {str(query.arguments["venv"]): query for query in facts.answers if query.arguments.get("venv") is not None}
    found = {name: place for name, query in asked.items() if (place := real_place(facts, query)) is not None}
    places = [*found.values()]
    return {name: place for name, place in found.items() if places.count(place) > 1}


def _outlook(
    name: str,
    old: NodeReport | None,
    new: NodeReport | None,
    renamed: Mapping[str, str],
    folders: Mapping[str, str],
) -> NodeOutlook:
    return NodeOutlook(
        node=name,
        before=None if old is None else old.outcome,
        after=None if new is None else new.outcome,
        message=None if new is None else new.message,
        steps=_steps(() if old is None else old.steps, () if new is None else new.steps, renamed, folders),
    )


def _steps(
    old: tuple[StepReport, ...], new: tuple[StepReport, ...], renamed: Mapping[str, str], folders: Mapping[str, str]
) -> tuple[StepOutlook, ...]:
    before, after = {renamed.get(it.id, it.id): it for it in old}, {it.id: it for it in new}
    return tuple(
        StepOutlook(id=name, before=before.get(name), after=after.get(name))
        for name in dict.fromkeys((*after, *before))
        if _meaning(before.get(name), folders) != _meaning(after.get(name), folders)
    )


def _meaning(step: StepReport | None, folders: Mapping[str, str]) -> object:
    if step is None:
        return None
    command = step.action.command if step.action else None
    predicted = step.predicted and tuple(replace(it, name=_placed(it.name, folders)) for it in step.predicted)
    texts = tuple(None if it is None else _placed(it, folders) for it in (step.message, command))
    return step.outcome, step.reason, texts, predicted, step.details


def _placed(text: str, folders: Mapping[str, str]) -> str:
    """Return a text with the environments in it by their real folders."""
    if not folders:
        return text
    names = "|".join(re.escape(it) for it in sorted(folders, key=len, reverse=True))
    return re.sub(rf"(?<![\w./~-])(?:{names})(?![\w.~-])", lambda found: folders[found.group()], text)
