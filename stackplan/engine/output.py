"""What an action prints: told line by line as it comes, its end kept. Redacted before anything else sees it."""

import codecs
from collections.abc import Callable

from stackplan.model.secret import Redactor

_TAIL_CHARACTERS = 8 * 1024
_TAIL_LINES = 40
_LONGEST_LINE = 8 * 1024


class Output:
    """Bytes in, redacted text out. Text is held back to the end of its line, so that no secret is told in halves.

    Of a stream that comes once more from its beginning, the first `told` characters are not told again.
    """

    def __init__(self, redactor: Redactor, tell: Callable[[str], None], told: int = 0) -> None:
        self._redactor = redactor
        self._tell = tell
        self._told = told
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = ""
        self._tail = ""

    def feed(self, data: bytes) -> None:
        """Take what was printed; tell the lines that it completes."""
        self._pending += self._decoder.decode(data)
        whole, newline, rest = self._pending.rpartition("\n")
        self._emit(self._redactor.text(whole + newline))
        self._pending = rest
        if len(rest) > _LONGEST_LINE:
            self._shorten()

    def end(self) -> None:
        """Tell what is left: the last line, which need not have ended."""
        self._pending += self._decoder.decode(b"", final=True)
        self._emit(self._redactor.text(self._pending))
        self._pending = ""

    @property
    def tail(self) -> str | None:
        """The last lines that were told, or None when there was nothing."""
        return "\n".join(self._tail.splitlines()[-_TAIL_LINES:]) or None

    def _shorten(self) -> None:
        """Tell a part of a line that does not end; what could be the beginning of a secret stays behind."""
        clean = self._redactor.text(self._pending)
        keep = max(0, self._redactor.longest - 1)
        self._emit(clean[: len(clean) - keep])
        self._pending = clean[len(clean) - keep :]

    def _emit(self, text: str) -> None:
        if text:
            self._tail = (self._tail + text)[-_TAIL_CHARACTERS:]
            fresh = text[self._told :]
            self._told = max(0, self._told - len(text))
            if fresh:
                self._tell(fresh)
