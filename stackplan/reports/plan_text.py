"""Plans of very many nodes as text: one of each shape in full, the others by what they do otherwise; pure."""

from stackplan.model.report import NodeReport
from stackplan.reports import node_text
from stackplan.reports.count import counted, first_of
from stackplan.reports.layout import hanging, wrapped
from stackplan.reports.paint import Paint, Style
from stackplan.reports.plan_groups import ENOUGH, Group, by_shape, by_work, differing
from stackplan.reports.safe import safe

BRIEF = 20
"""Groups of nodes that are told in brief, over all shapes."""
BRIEF_LINES = 8
TOGETHER = "Nodes stand together where the same would be done; what was observed is told of the first of them."
WHOLE = "`-l NODE` shows the plan of a node, `--format json` those of all."


def render(nodes: tuple[NodeReport, ...], width: int, paint: Paint) -> list[str]:
    """Return what would be done on so many nodes, and at the end what is left out; each block ends in a blank line."""
    groups = by_work(nodes)
    shapes = [[group] for group in groups] if len(groups) <= ENOUGH else by_shape(groups)
    lines: list[str] = []
    brief = BRIEF
    for shape in shapes[:ENOUGH]:
        (names, node), *others = shape
        lines += [*node_text.render(names, node, width, paint), ""]
        if others:
            lines += [*_in_brief(others[:brief], node, width, paint), *_left(others[brief:]), ""]
            brief = max(0, brief - len(others))
    if further := [group for shape in shapes[ENOUGH:] for group in shape]:
        first = shapes[0][0][1]
        lines += [*_in_brief(further[:brief], first, width, paint), *_left(further[brief:]), ""]
    return [*lines, *wrapped(f"{TOGETHER} {WHOLE}", width), ""]


def _in_brief(groups: list[Group], model: NodeReport, width: int, paint: Paint) -> list[str]:
    if not groups:
        return []
    lines = [paint(Style.STRONG, f"as on {safe(model.node, 100)}, except:")]
    for names, node in groups:
        count = f" ({counted(len(names), 'node')})" if len(names) > 1 else ""
        lines += hanging("  ", f"{node_text.names_text(names)}{count}", width)
        told = differing(node, model)
        shown, left = first_of(told, BRIEF_LINES)
        for it in shown:
            lines += hanging("      ", it, width)
        if left:
            lines.append(f"      … and {counted(left, 'more difference')}")
    return lines


def _left(groups: list[Group]) -> list[str]:
    if not groups:
        return []
    nodes = sum(len(names) for names, _ in groups)
    return [f"… and {counted(nodes, 'more node')} with {counted(len(groups), 'other plan')}, not told here"]
