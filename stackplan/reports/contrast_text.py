"""What sets nodes apart, as a small table above a plan for several of them; pure."""

from rich.cells import cell_len

from stackplan.model.report import NodeReport
from stackplan.reports.contrast import contrasts, rest_text
from stackplan.reports.count import counted, first_of
from stackplan.reports.layout import hanging, padded
from stackplan.reports.node_text import names_text
from stackplan.reports.paint import Paint, Style
from stackplan.reports.safe import safe

VALUES = 6
ROWS = 12
COLUMN = 28


def contrast_lines(nodes: tuple[NodeReport, ...], width: int, paint: Paint) -> list[str]:
    """Return a line for each value in which nodes differ, with those that have it; nothing where they are alike."""
    every = contrasts(nodes)
    if not every:
        return []
    shown, left = first_of(every, ROWS)
    names = min(COLUMN, max(cell_len(safe(it.name, 60)) for it in shown))
    texts = min(COLUMN, max(cell_len(safe(value, 60)) for it in shown for value, _ in it.values[:VALUES]))
    lines = [paint(Style.STRONG, "what differs between the nodes")]
    for it in shown:
        lead = padded(safe(it.name, 60), names)
        values, unshown = first_of(it.values, VALUES)
        for value, having in values:
            count = f" ({len(having)} nodes)" if len(having) > 1 else ""
            lines += hanging(f"  {lead}   {padded(safe(value, 60), texts)}   ", names_text(having) + count, width)
            lead = " " * names
        if unshown:
            lines.append(f"  {lead}   {rest_text(it, VALUES)}")
    if left:
        lines.append(f"  … and {counted(left, 'more difference')}")
    return lines
