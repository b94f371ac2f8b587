"""Which variables of a plan are not the playbook's own, and who set them; pure."""

from rich.cells import cell_len

from stackplan.model.report import Report
from stackplan.reports.layout import hanging, padded
from stackplan.reports.paint import Paint, Style
from stackplan.reports.safe import safe

TITLE = "variables that the playbook does not set itself"
ROWS = 12
_COLUMN = 28
_VALUE = 200


def overridden(report: Report) -> list[tuple[str, str, str]]:
    """Return name, value and who set it, of each variable that was used and is not the playbook's own."""
    return [(name, report.variables.get(name, ""), origin) for name, origin in report.variable_origins.items()]


def overridden_lines(report: Report, width: int, paint: Paint) -> list[str]:
    """Return a line for each of them; nothing where all are the playbook's own."""
    every = overridden(report)
    if not every:
        return []
    names = min(_COLUMN, max(cell_len(safe(name, 60)) for name, _, _ in every[:ROWS]))
    texts = min(_COLUMN, max(cell_len(safe(value, _VALUE)) for _, value, _ in every[:ROWS]))
    lines = [paint(Style.STRONG, TITLE)]
    for name, value, origin in every[:ROWS]:
        lead = f"  {padded(safe(name, 60), names)}   {padded(safe(value, _VALUE), texts)}   "
        lines += hanging(lead, safe(origin, _VALUE), width)
    if len(every) > ROWS:
        lines.append(f"  … and {len(every) - ROWS} more")
    return lines
