"""Waiting for the journal of a trial to announce something: the moment at which a fault hits what follows from that."""

from pathlib import Path

# Ahead of a start, right behind an end, behind a new connection, behind the first answers.
MOMENTS = ("StepStarted", "StepEnded", "Reattached", "NodeProven")


class Announcements:
    """What is written from now on to the journals below a folder."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._read = {path: path.stat().st_size for path in self._journals()}

    def _journals(self):
        return list(self._state.glob("runs/*/events.jsonl"))

    def has(self, event):
        """Tell whether an event of that kind was written since this was made, or since it was asked last."""
        found = False
        for path in self._journals():
            with path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                fresh = file.read()
            self._read[path] = self._read.get(path, 0) + len(fresh)
            found = found or b'{"event":"%s"' % event.encode() in fresh
        return found
