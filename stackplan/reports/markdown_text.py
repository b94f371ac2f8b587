"""Foreign text in markdown, and a page of bounded length; pure.

Every text that is not ours stands in a code span or a fence: nothing in it is markup, a mention, a link or an image.
"""

import html
from collections.abc import Callable, Iterable, Sequence

from stackplan.model.regular import regular
from stackplan.reports.count import counted
from stackplan.reports.safe import clipped, safe

_RESERVE = 800
_BACKTICKS = regular(r"`+")
_BEFORE_PIPE = regular(r"(\\*)\|")


def code(text: str, limit: int = 300) -> str:
    """Return `text` as a code span on one line."""
    shown = safe(text, limit)
    fence = "`" * (_longest_run(shown) + 1)
    # White space around is taken for padding, and an empty span is no span.
    pad = " " if not shown.strip() or shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{pad}{shown or '-'}{pad}{fence}"


def cell(text: str, limit: int = 120) -> str:
    """Return `text` as a code span for a cell of a table, where `|` ends the cell even inside of one."""
    return _BEFORE_PIPE.sub(r"\1\1\\|", code(text, limit))


def raw_code(text: str, limit: int = 120) -> str:
    """Return `text` as code where HTML stands, as in `<summary>`."""
    # In HTML a line break ends nothing, but a blank line would: there is none in a safe text.
    return f"<code>{html.escape(safe(text, limit))}</code>"


def fenced(lines: Sequence[str], language: str = "text", *, limit: int = 16_000) -> str:
    """Return printable lines as a fenced block of at most about `limit` characters; it says how many lines are left."""
    kept: list[str] = []
    size = 0
    for line in lines:
        size += len(line) + 1
        if size > limit:
            break
        kept.append(line)
    if len(kept) < len(lines):
        kept.append(f"… ({counted(len(lines) - len(kept), 'more line')})")
    fence = "`" * max(3, _longest_run("\n".join(kept)) + 1)
    return "\n".join([f"{fence}{language}", *kept, fence])


def folded(summary: str, body: str) -> str:
    """Return a block that is closed at first; `summary` is HTML, `body` markdown."""
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are fit to stand in one."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def listed(names: Sequence[str], most: int, show: Callable[[str, int], str] = cell) -> str:
    """Return names as code (for a cell unless told otherwise), of many the first `most` and how many there are."""
    first = ", ".join(show(name, 80) for name in names[:most])
    return f"{first} … ({len(names)})" if len(names) > most else first


def length(text: str) -> int:
    """Return the characters of a text as the strictest reader counts them: those outside of the first plane twice."""
    return len(text) + sum(ord(character) > 0xFFFF for character in text)


def _longest_run(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)


class Page:
    """Blocks of markdown with a blank line between them, all together never longer than a limit."""

    def __init__(self, limit: int) -> None:
        self._blocks: list[str] = []
        self._left = limit - _RESERVE

    def add(self, block: str) -> bool:
        """Take a block in if there is room for all of it, and return whether there was."""
        needed = length(block) + 2
        if needed > self._left:
            return False
        self._blocks.append(block)
        self._left -= needed
        return True

    def add_rows(self, head: Sequence[str], rows: Sequence[Sequence[str]], share: int) -> int:
        """Take in a table, as many of its rows as go into `share` characters, and return how many were left out."""
        room = min(share, self._left) - length(table(head, ())) - 2
        kept: list[Sequence[str]] = []
        for row in rows:
            room -= length(" | ".join(row)) + 6
            if room < 0:
                break
            kept.append(row)
        if kept:
            self.add(table(head, kept))
        return len(rows) - len(kept)

    def text(self, *last: str) -> str:
        """Return the page; `last` are closing lines, for which some room was kept free."""
        closing = [clipped(line, _RESERVE // 2 - 40) for line in last if line]
        return "\n\n".join([*self._blocks, *closing]) + "\n"
