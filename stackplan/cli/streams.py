"""The three standard streams, made such that none of them can bring a command down: closed, full, or unable to show
a character.
"""

import codecs
import os
import sys
from typing import TextIO

_NUMBERS = {"stdin": 0, "stdout": 1, "stderr": 2}
_ERRORS = "stackplan-plain"
_PLAIN = {
    "✔": "ok",
    "✘": "x",
    "▸": ">",
    "↩": "<",
    "·": ".",
    "…": "...",
    "→": "->",
    "\u00d7": "x",
    "—": "-",
    "\u2013": "-",
    "≥": ">=",
    "≤": "<=",
    "“": '"',
    "”": '"',
    "\u2019": "'",
}
"""What stands for a character of ours where it cannot be shown; never `?`, which is the mark of what is unknown."""


def prepare() -> None:
    """Put something in place of streams that are closed, and let the others take every character."""
    for name, number in _NUMBERS.items():
        if _is_closed(number):
            _fill(number)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "r" if name == "stdin" else "w", encoding="utf-8", closefd=False))
    codecs.register_error(_ERRORS, _written_plainly)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors=_ERRORS)


def to_nowhere(stream: TextIO) -> None:
    """Let whatever is written from here on, by the interpreter's own last flush too, go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _is_closed(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return True
    return False


def _fill(number: int) -> None:
    """Occupy a descriptor, so that no file or connection gets it; what is written to it is refused as before."""
    opened = os.open(os.devnull, os.O_RDONLY)
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)


def _written_plainly(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    first = error.object[error.start]
    if first in _PLAIN:
        return _PLAIN[first], error.start + 1
    return codecs.backslashreplace_errors(
        UnicodeEncodeError(error.encoding, error.object, error.start, error.start + 1, "")
    )
