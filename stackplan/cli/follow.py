"""A journal that somebody else writes, followed to its end."""

import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from stackplan.engine.encoding import decode
from stackplan.engine.journal import goes_on, open_journal
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.event import Event, RunEnded

POLL_S = 0.2
_CHUNK = 1 << 20


def follow(path: Path, tell: Callable[[Event], None]) -> None:
    """Tell the events of a journal, those that are there and those that come, until the run ends or its controller
    does. Raise Invalid where it cannot be read.
    """
    try:
        _follow(path, tell)
    except (OSError, ValueError) as error:
        raise Invalid([Diagnosis(summary=f"the journal {path} cannot be followed", observed=str(error))]) from error


def _follow(path: Path, tell: Callable[[Event], None]) -> None:
    pause = threading.Event()
    with os.fdopen(open_journal(path), "rb") as file:
        pending = b""
        while True:
            # Asked first: what was written before the controller ended is read after that.
            alive = goes_on(path)
            while data := file.read(_CHUNK):
                *lines, pending = (pending + data).split(b"\n")
                for event in _events(lines):
                    tell(event)
                    if isinstance(event, RunEnded):
                        return
            if not alive:
                return
            pause.wait(POLL_S)


def _events(lines: list[bytes]) -> Iterator[Event]:
    for line in lines:
        data = json.loads(line)
        if isinstance(data, dict) and "event" in data and (event := decode(data)) is not None:
            yield event
