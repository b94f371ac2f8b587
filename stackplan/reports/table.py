"""Rows under heads, each column as wide as its widest cell, the last one wrapped; pure."""

from collections.abc import Sequence

from stackplan.reports.cells import cell_len
from stackplan.reports.layout import hanging, padded
from stackplan.reports.paint import Paint, Style

LONGEST_NAME = 60
"""Cells of a word that is not broken; reports cut names off at as many."""


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int, paint: Paint) -> list[str]:
    """Return the lines of a table; a column of which every cell is empty is left out. No row, no line.

    Lines may be wider than `width` where the other columns leave the last one no room for a name.
    """
    if not rows:
        return []
    kept = [index for index in range(len(heads)) if any(row[index] for row in rows)]
    columns = [max(cell_len(heads[index]), *(cell_len(row[index]) for row in rows)) for index in kept[:-1]]

    def line(row: Sequence[str]) -> list[str]:
        *cells, last = [row[index] for index in kept]
        lead = "".join(f"{padded(cell, wide)}  " for cell, wide in zip(cells, columns, strict=True))
        # A name, such as a run's, stays whole: broken, it could not be copied.
        longest = max((cell_len(word) for word in last.split(" ") if cell_len(word) <= LONGEST_NAME), default=0)
        return [it.rstrip() for it in hanging(lead, last, max(width, cell_len(lead) + longest))]

    head, *more = line(heads)
    return [paint(Style.FAINT, it) for it in (head, *more)] + [it for row in rows for it in line(row)]
