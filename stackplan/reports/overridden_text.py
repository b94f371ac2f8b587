"""Which variables of a plan are not the playbook's own or override these, and who set them; pure."""

from rich.cells import cell_len

from stackplan.model.report import Report
from stackplan.reports.count import first_of
from stackplan.reports.layout import hanging, padded
from stackplan.reports.paint import Paint, Style
from stackplan.reports.safe import clipped, safe

FOREIGN = "variables that the playbook does not set itself"
OVERRIDDEN = "overridden variables: the playbook's value → the value used, and who set it"
ROWS = 12
_COLUMN = 28
_VALUE = 200


Row = tuple[str, str, str]


def blocks(report: Report) -> list[tuple[str, list[Row]]]:
    """Return titles with name, value and who set it, of the variables that were used and are not the playbook's own.

    Those that the playbook sets, too, to another value stand apart, with that before the one that was used.
    """
    overridden = report.variables_overridden
    foreign = [
        (name, report.variables.get(name, ""), origin)
        for name, origin in report.variable_origins.items()
        if name not in overridden
    ]
    replaced = [
        (name, f"{clipped(overridden[name], _VALUE)} → {used}", origin)
        for name, origin in report.variable_origins.items()
        if name in overridden and overridden[name] != (used := report.variables.get(name, ""))
    ]
    return [(title, rows) for title, rows in ((FOREIGN, foreign), (OVERRIDDEN, replaced)) if rows]


def overridden_lines(report: Report, width: int, paint: Paint) -> list[str]:
    """Return a line for each of them; nothing where all are the playbook's own."""
    return [line for title, rows in blocks(report) for line in _block_lines(title, rows, width, paint)]


def _block_lines(title: str, every: list[Row], width: int, paint: Paint) -> list[str]:
    shown, left = first_of(every, ROWS)
    names = min(_COLUMN, max(cell_len(safe(name, 60)) for name, _, _ in shown))
    texts = min(_COLUMN, max(cell_len(safe(value, _VALUE)) for _, value, _ in shown))
    lines = [paint(Style.STRONG, title)]
    for name, value, origin in shown:
        lead = f"  {padded(safe(name, 60), names)}   {padded(safe(value, _VALUE), texts)}   "
        lines += hanging(lead, safe(origin, _VALUE), width)
    if left:
        lines.append(f"  … and {left} more")
    return lines
