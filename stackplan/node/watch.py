"""Following a job from the outside: its output as it grows, then how it ended."""

from __future__ import annotations

import base64
import time
from typing import Any, Iterator

from stackplan.node.spool import OutputReader, Spool

_CHUNK = 64 * 1024
# A stream that grows faster than the connection carries it is not sent whole: its beginning, and what is near its end.
_HEAD = 1024 * 1024
_FAR_BEHIND = 8 * 1024 * 1024
_CATCH_UP = 1024 * 1024
_SHORTEST_PAUSE_S = 0.005
_LONGEST_PAUSE_S = 0.2


class Watcher:
    """One `watch` request; `again` is the time at which there may be news. `done` when the ending was told."""

    def __init__(self, request: Any, job: str, offset: int) -> None:
        self.request = request
        self.done = False
        self.again = 0.0
        self._spool = Spool(job)
        self._reader = OutputReader(self._spool, offset)
        self._pause_s = _SHORTEST_PAUSE_S
        self._told_not_kept = False

    def news(self) -> Iterator[dict[str, Any]]:
        """Yield what is to be sent now, one frame at a time; stop anywhere, the rest comes next time."""
        record = self._spool.ending()
        alive = record is None and self._spool.supervised()
        if record is None and not alive:
            # It may have written its ending and gone between the two looks.
            record = self._spool.ending()
        moved = False
        for frame in self._output():
            moved = True
            yield frame
        if record is not None or not alive:
            yield from self._ending(record or {})
        self._pause_s = _SHORTEST_PAUSE_S if moved else min(_LONGEST_PAUSE_S, self._pause_s * 1.5)
        self.again = time.monotonic() + self._pause_s

    def _output(self) -> Iterator[dict[str, Any]]:
        while True:
            skipped = self._skip_ahead()
            gone, data = self._reader.read(_CHUNK)
            if not data and not gone and not skipped:
                return
            frame = {
                "id": self.request,
                "output": base64.b64encode(data).decode("ascii"),
                "offset": self._reader.offset,
            }
            if skipped or gone:
                frame["skipped"] = skipped + gone
            yield frame

    def _skip_ahead(self) -> int:
        if self._reader.offset < _HEAD:
            return 0
        size = self._reader.size()
        if size - self._reader.offset <= _FAR_BEHIND:
            return 0
        skipped = size - _CATCH_UP - self._reader.offset
        self._reader.offset += skipped
        return skipped

    def _ending(self, record: dict[str, Any]) -> Iterator[dict[str, Any]]:
        not_kept = int(record.get("not_kept") or 0)
        if not_kept and not self._told_not_kept:
            self._told_not_kept = True
            yield {"id": self.request, "output": "", "offset": self._reader.offset, "skipped": not_kept}
        self.done = True
        yield {"id": self.request, "ending": self._spool.word_on(record.get("ending")), "spool": self._spool.path}
