"""What sets the nodes of a report apart from each other; pure."""

from dataclasses import dataclass

from stackplan.model.report import NodeReport

UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Contrast:
    """Something in which nodes differ: its values, each with the nodes that have it, in report order."""

    name: str
    values: tuple[tuple[str, tuple[str, ...]], ...]


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
            found.append(Contrast(name, tuple((value, tuple(having)) for value, having in values.items())))
    return tuple(found)
