"""Takes secrets out of what a command prints before it is kept: a spool on the node outlives the run."""

from __future__ import annotations

import re
import string

MASK = b"***"
_GRAM = 12
_BASE64_RUN = re.compile(rb"[A-Za-z0-9+/_-]{%d,}={0,2}" % _GRAM)
_BASE64 = frozenset((string.ascii_letters + string.digits + "+/-_=").encode("ascii"))
# A line that does not end is kept in parts of this size; what could be the beginning of a secret waits for the next.
_LONGEST_LINE = 64 * 1024


class Mask:
    """Bytes in, masked bytes out. `forms` are replaced; of base64 around one of `cores` nothing is left.

    Without either, everything passes at once; with them a line waits for its end, so that no secret passes in halves.
    """

    def __init__(self, forms: list[str], cores: list[str]) -> None:
        self._forms = [form.encode("utf-8", "surrogatepass") for form in forms]
        self._cores = [core.encode("ascii") for core in cores]
        self._grams = {core[at : at + _GRAM] for core in self._cores for at in range(len(core) - _GRAM + 1)}
        self._longest = max((len(it) for it in (*self._forms, *self._cores)), default=0)
        self._pending = b""

    def feed(self, data: bytes) -> bytes:
        if not self._longest:
            return data
        self._pending += data
        end = max(self._pending.rfind(b"\n"), self._pending.rfind(b"\r")) + 1
        if not end and len(self._pending) > _LONGEST_LINE:
            self._pending = self._masked(self._pending)
            end = max(0, len(self._pending) - self._longest + 1)
        whole, self._pending = self._pending[:end], self._pending[end:]
        return self._masked(whole)

    def end(self) -> bytes:
        rest, self._pending = self._pending, b""
        return self._masked(rest)

    def _masked(self, data: bytes) -> bytes:
        for form in self._forms:
            data = data.replace(form, MASK)
        for core in self._cores:
            if core in data:
                data = _without_runs(data, core)
        # Base64 is wrapped at some width: of a long secret a line holds a part alone.
        return _BASE64_RUN.sub(lambda run: MASK if self._holds(run[0]) else run[0], data) if self._grams else data

    def _holds(self, run: bytes) -> bool:
        return any(run[at : at + _GRAM] in self._grams for at in range(len(run) - _GRAM + 1))


def _without_runs(data: bytes, core: bytes) -> bytes:
    parts: list[bytes] = []
    end = 0
    while True:
        start = data.find(core, end)
        if start < 0:
            return b"".join([*parts, data[end:]])
        first, last = start, start + len(core)
        while first > end and data[first - 1] in _BASE64:
            first -= 1
        while last < len(data) and data[last] in _BASE64:
            last += 1
        parts += [data[end:first], MASK]
        end = last
