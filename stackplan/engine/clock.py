"""The time, as an argument: whoever needs it is given a clock, so that tests own it. Standard library only."""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> str:
        """Return the present as ISO 8601 in UTC, for people; nothing may decide on it."""

    def monotonic(self) -> float:
        """Return seconds that only go forward, whatever is done to the wall clock."""


class SystemClock:
    def now(self) -> str:
        return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def monotonic(self) -> float:
        return time.monotonic()
