"""Foreign text made fit for a terminal: every text from a node or a file goes through here before it is shown.

What a terminal would obey instead of showing (escape sequences, control characters, right-to-left overrides, invisible
format characters, halves of surrogate pairs) becomes a visible escape, and no single text is longer than its bound.
"""

import unicodedata

from stackplan.model.regular import regular

LINE_LIMIT = 600
"""Characters of one text that are shown; the rest is counted. The JSON report holds all of it."""


_CUT = regular(r"…\s+\([\d,]+\s+characters\)")


def safe(text: str, limit: int = LINE_LIMIT) -> str:
    """Return `text` as one printable line of at most about `limit` characters; a line break becomes a visible `\\n`."""
    text = clipped(text, limit)
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else _visible(character) for character in text)


def safe_lines(text: str, count: int, limit: int = 200) -> tuple[str, ...]:
    """Return the last `count` lines of a command's output that are not blank, each of them safe.

    Of a line that was overwritten with carriage returns (a progress bar) only what stood there last is kept.
    """
    # A megabyte of output is not taken apart for its last lines; two limits a line leave room for overwritten parts.
    text = text[-2 * limit * (count + 1) - 2 :]
    lines = (_standing(line) for line in text.split("\n"))
    kept = [line.rstrip() for line in lines if line.strip()]
    return tuple(safe(line, limit) for line in kept[-count:])


def safe_paragraphs(text: str, count: int = 16, limit: int = LINE_LIMIT) -> str:
    """Return a text of several lines, each of them safe; of more than `count` lines the first and how many are left."""
    lines = text.strip("\n").split("\n", count)
    shown = [safe(line.rstrip("\r"), limit) for line in lines[:count]]
    if len(lines) > count:
        shown.append(f"… ({lines[count].count(chr(10)) + 1:,} more lines)")
    return "\n".join(shown)


def clipped(text: str, limit: int) -> str:
    """Return `text`, or its beginning and how many characters it has when it is longer than `limit`."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… ({len(text):,} characters)"


def cut_note(shown: str, run: str | None) -> str | None:
    """Return where texts that were cut in `shown` can be read in full; None where nothing was cut."""
    if not _CUT.search(shown):
        return None
    where = "`--format json`" if run is None else f"`stackplan show {safe(run)} --format json`"
    return f"Texts that end in … (N characters) are cut off; {where} shows them in full."


def _standing(line: str) -> str:
    return next((part for part in reversed(line.split("\r")) if part.strip()), "")


def _visible(character: str) -> str:
    if character in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[character]
    if unicodedata.category(character) == "Zs":
        return " "
    number = ord(character)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
