"""Widths and wrapping in the cells of a terminal, where a wide character takes two."""

from stackplan.reports.cells import cell_len

MINIMUM = 40
LONGEST_PATH = 240


def usable(width: int) -> int:
    """Return a width to lay out for: a window too narrow to be read in is treated as one of 40 cells."""
    return max(MINIMUM, width)


def padded(text: str, width: int) -> str:
    """Return `text` with blanks up to `width` cells; longer text stays whole."""
    return text + " " * max(0, width - cell_len(text))


def wrapped(text: str, width: int) -> list[str]:
    """Return `text` in lines of at most `width` cells, broken at blanks, and inside a word that fits no line and is no
    path.
    """
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        candidate = f"{line} {word}" if line else word
        if cell_len(candidate) <= width:
            line = candidate
            continue
        if line:
            lines.append(line)
        # A path or an address stays whole: broken, it could be neither clicked nor copied.
        while cell_len(word) > width and not ("/" in word and cell_len(word) <= LONGEST_PATH):
            head, word = _split(word, width)  # noqa: PLW2901 - the rest of the word is what is left to place
            lines.append(head)
        line = word
    return [*lines, line] if line or not lines else lines


def hanging(lead: str, text: str, width: int) -> list[str]:
    """Return `lead` followed by `text`, whose further lines stand under its first one."""
    margin = cell_len(lead)
    first, *rest = wrapped(text, max(20, width - margin))
    return [f"{lead}{first}", *(" " * margin + line for line in rest)]


def paragraphs(lead: str, text: str, width: int) -> list[str]:
    """Return a text of several lines, each wrapped under the first; `lead` stands in front of the first alone."""
    margin = " " * cell_len(lead)
    lines: list[str] = []
    for index, line in enumerate(text.split("\n")):
        lines += hanging(margin if index else lead, line, width)
    return lines


def beside(left: str, right: str | None, column: int, width: int) -> list[str]:
    """Return `left` with `right` from `column` on, on lines of their own where one line does not hold both."""
    if not right:
        return _under(left, width)
    start = max(column, cell_len(left) + 3)
    if start + cell_len(right) <= width:
        return [padded(left, start) + right]
    margin = len(left) - len(left.lstrip(" ")) + 2
    return [*_under(left, width), *hanging(" " * margin, right, width)]


def _split(word: str, width: int) -> tuple[str, str]:
    """Return as many characters as fit `width` cells (at least one), and the rest."""
    cells = 0
    for index, character in enumerate(word):
        cells += cell_len(character)
        if cells > width and index:
            return word[:index], word[index:]
    return word, ""


def _under(text: str, width: int) -> list[str]:
    bare = text.lstrip(" ")
    return hanging(" " * (len(text) - len(bare)), bare, width)
