"""What sets the nodes of a report apart from each other; pure."""

from dataclasses import dataclass

from stackplan.model.report import NodeReport
from stackplan.reports.count import counted

UNKNOWN = "unknown"


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
    known = [node for node in nodes if node.traits]
    names = dict.fromkeys(name for node in known for name in node.traits)
    found = []
    for name in names:
        values: dict[str, list[str]] = {}
        for node in known:
            values.setdefault(node.traits.get(name, UNKNOWN), []).append(node.node)
        if len(values) > 1:
            ordered = sorted(values.items(), key=lambda it: -len(it[1]))
            found.append(Contrast(name, tuple((value, tuple(having)) for value, having in ordered)))
    return tuple(found)
