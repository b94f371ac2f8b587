"""What a unit's journal says of why it ended: its last lines, and before them the one that holds the reason.

A server writes its arguments, a traceback and a hundred lines of shutting down, and a single line may be 100 KB of
JSON. So many lines are read, the telling one among them is looked for, and each is shown around what tells. Secrets
are masked before a line is cut: a piece of one could not be recognised.
"""

from __future__ import annotations

import collections
import os
import re
import subprocess
import threading
from typing import IO, Iterator, NamedTuple

from stackplan.node.secret_words import without_secrets

LAST = 10
LOOKED_AT = 500
PATIENCE_S = 10.0
LONGEST_LINE = 1024 * 1024
SHOWN = 300
_BEFORE = 60
# Those who read a failed step see about so many of the last lines; only what stands further up is told apart.
_IN_SIGHT = 5
_STRONG = re.compile(
    r"\b(?!CancelledError|BrokenPipeError)[A-Z]\w{0,60}(?:Error|Exception)\b"
    r"|Fatal Python error|error while loading shared libraries|undefined symbol"
    r"|[Oo]ut of memory|[Aa]ddress already in use|Failed at step|Failed to execute"
)
_REFUSED = "Start request repeated too quickly"
_WEAK = re.compile(
    r"\b(?:error|fatal|critical|panic|failed|failure|cannot|could not|unable to|no such|not found|denied|refused"
    r"|killed|invalid|unrecognized|aborted)\b",
    re.IGNORECASE,
)
# What systemd itself writes of every unit that ends, whatever the reason.
_OF_SYSTEMD = re.compile(
    r"(?:Started|Starting|Stopped|Stopping|Failed to start) |\S+\.\w+: (?:Main process exited|Failed with result"
    r"|Scheduled restart|Control process exited|Consumed|Deactivated|Start request|Stopping timed out)"
)


class Line(NamedTuple):
    """A line as it is shown, and how much it tells: 2 an exception or the like, 1 a word of failure, 0 nothing."""

    shown: str
    tells: int


def report(name: str, since_s: int) -> str | None:
    """Return in words the end of the journal of a unit since a time, and of the time before where the unit did not even
    start in it; None where there is no journal, or none that may be read.
    """
    lines = _read(name, [f"--since=@{since_s}"])
    if all(_REFUSED in it.shown for it in lines if it.shown):
        lines = _read(name, []) or lines
    if not lines:
        return None
    last = [it.shown for it in lines[-LAST:]]
    why = reason(lines)
    parts = [] if why is None or why in last[-_IN_SIGHT:] else [f"its journal says why:\n  {why}"]
    return "\n".join([*parts, "the last lines of its journal:", *(f"  {it}" for it in last)])


def reason(lines: list[Line]) -> str | None:
    """Return the line that tells most, of equal ones the last: what comes later is the final word."""
    best = max((it.tells for it in lines), default=0)
    return next((it.shown for it in reversed(lines) if it.tells == best), None) if best else None


def told(text: str) -> Line:
    """Return a line as it is shown: its secrets masked, what a progress bar overwrote left out, and of a long one what
    stands around the words that tell.
    """
    standing = next((part for part in reversed(text.split("\r")) if part.strip()), "").rstrip()
    clean = without_secrets(standing)
    strong = list(_STRONG.finditer(clean))
    if _OF_SYSTEMD.match(clean):
        return Line(clean[:SHOWN], 0)
    match = strong[-1] if strong else _WEAK.search(clean)
    tells = 2 if strong else 1 if match else 0
    if len(clean) <= SHOWN:
        return Line(clean, tells)
    start = max(0, min(match.start() - _BEFORE, len(clean) - SHOWN)) if match else 0
    end = start + SHOWN
    return Line(f"{'…' if start else ''}{clean[start:end]}{'…' if end < len(clean) else ''}", tells)


def _read(name: str, more: list[str]) -> list[Line]:
    argv = ["journalctl", "--no-pager", "--quiet", "--output=cat", f"--lines={LOOKED_AT}", f"--unit={name}", *more]
    try:
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ}
        )
    except OSError:
        return []
    timer = threading.Timer(PATIENCE_S, process.kill)
    timer.daemon = True
    kept: collections.deque[Line] = collections.deque(maxlen=LOOKED_AT)
    with process:
        timer.start()
        try:
            assert process.stdout is not None
            kept.extend(told(it.decode("utf-8", "replace")) for it in _lines(process.stdout) if it.strip())
        finally:
            timer.cancel()
    return list(kept)


def _lines(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of a stream, of one beyond all measure the beginning."""
    while line := stream.readline(LONGEST_LINE):
        yield line
        while not line.endswith(b"\n") and line:
            line = stream.readline(LONGEST_LINE)
