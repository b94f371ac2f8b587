"""How many cells of a terminal a text takes, told by the standard library: `lint` needs nothing more."""

import unicodedata

_MARKS = frozenset({"Mn", "Me", "Cf", "Cc"})
"""What stands on or in another character, or is none that is seen."""
_WIDE = frozenset({"W", "F"})


def cell_len(text: str) -> int:
    """Return the cells that `text` takes: two for a wide character, none for a mark on another."""
    if text.isascii() and text.isprintable():
        return len(text)
    return sum(map(_cells, text))


def _cells(character: str) -> int:
    if unicodedata.category(character) in _MARKS and character != "\u00ad":
        return 0
    return 2 if unicodedata.east_asian_width(character) in _WIDE else 1
