"""What sets the nodes of a plan apart from each other: what they are, and what would be done on them; pure."""

from collections.abc import Iterable, Iterator, Mapping

from stackplan.model.frozen import dataclass
from stackplan.model.outcome import StepOutcome
from stackplan.model.report import NodeReport, StepReport
from stackplan.reports.count import counted
from stackplan.reports.own_name import without_own_name
from stackplan.reports.wording import change_ends, outcome_word

UNKNOWN = "unknown"
UNCHANGED = "not changed"
_WORDS = {"none": "not installed"}
"""What values of traits are called beside the names of nodes; in JSON they stay as they are."""
_ACTING = frozenset({StepOutcome.WOULD_CHANGE, StepOutcome.WOULD_RUN})


@dataclass(frozen=True, slots=True)
class Contrast:
    """Something in which nodes differ: its values, each with the nodes that have it; what most of them have first."""

    name: str
    values: tuple[tuple[str, tuple[str, ...]], ...]


def rest_text(contrast: Contrast, shown: int) -> str:
    """Return what is not shown of a contrast beyond its first values, in words."""
    rest = contrast.values[shown:]
    nodes = sum(len(having) for _, having in rest)
    return f"… and {counted(len(rest), 'more value')} on {counted(nodes, 'node')}"


def contrasts(nodes: tuple[NodeReport, ...]) -> tuple[Contrast, ...]:
    """Return what differs between the nodes of which anything is known, in the order in which it is first told."""
    return (*_of_traits(nodes), *_of_steps(tuple(without_own_name(it) for it in nodes)))


def _of_traits(nodes: tuple[NodeReport, ...]) -> Iterator[Contrast]:
    known = [node for node in nodes if node.traits]
    for name in dict.fromkeys(name for node in known for name in node.traits):
        yield from _contrast(name, ((node.node, _spoken(node.traits.get(name, UNKNOWN))) for node in known))


def _spoken(value: str) -> str:
    return _WORDS.get(value, value)


def _of_steps(nodes: tuple[NodeReport, ...]) -> Iterator[Contrast]:
    """Yield in which steps nodes come to another outcome and, of those that would act, what changes otherwise."""
    found: dict[str, dict[str, StepReport]] = {}
    for node in nodes:
        for step in node.steps:
            # That a step is not reached says nothing of its own: an earlier one is told.
            if not step.unreached:
                found.setdefault(step.id, {})[node.node] = step
    for name, steps in found.items():
        # Of values that as many nodes have, the one that fails comes first.
        ordered = sorted(steps.items(), key=lambda it: it[1].outcome is not StepOutcome.WOULD_FAIL)
        yield from _contrast(f"step {name}", ((node, outcome_word(step)) for node, step in ordered))
        yield from _of_changes(name, {node: step for node, step in steps.items() if step.outcome in _ACTING})


def _of_changes(name: str, steps: Mapping[str, StepReport]) -> Iterator[Contrast]:
    told = {
        node: {(it.kind, it.name): change_ends(it, step) for it in step.predicted}
        for node, step in steps.items()
        if step.predicted is not None
    }
    for key in dict.fromkeys(key for changes in told.values() for key in changes):
        values = ((node, changes.get(key, UNCHANGED)) for node, changes in told.items())
        yield from _contrast(f"{key[1]} in {name}", values)


def _contrast(name: str, told: Iterable[tuple[str, str]]) -> Iterator[Contrast]:
    """Yield the contrast between nodes, each with its value; none where all have the same."""
    values: dict[str, list[str]] = {}
    for node, value in told:
        values.setdefault(value, []).append(node)
    if len(values) > 1:
        ordered = sorted(values.items(), key=lambda it: -len(it[1]))
        yield Contrast(name, tuple((value, tuple(having)) for value, having in ordered))
