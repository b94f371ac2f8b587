"""What evaluating one template may cost, and what a value weighs; imports nothing of ours.

A budget is asked before every operation that is not of constant cost, so that no single one works on more than
`MOST_PARTS`, and all together end in time.
"""

import time
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from dataclasses import field
from typing import Any

from stackplan.model.frozen import dataclass

LONGEST_TEXT = 1024 * 1024
MOST_TURNS = 10_000
"""Turns of all loops of one template together."""
MOST_PARTS = 100_000
"""Parts of a value, lists within lists counted through; a text counts as one more for every 16 characters."""
LONGEST_S = 5.0
_CHARACTERS = 16


class TooMuch(Exception):
    """A bound was passed; `expression` makes a BadTemplate of it. Its words hold no value of the template."""


@dataclass
class Budget:
    """What one evaluation may still spend; `until` is a time of the monotonic clock."""

    turns: int = MOST_TURNS
    until: float = field(default_factory=lambda: time.monotonic() + LONGEST_S)

    def charge(self, *values: Any) -> None:
        """Raise TooMuch when time is up, or one of the values is too large for anything to be done with it."""
        if time.monotonic() > self.until:
            raise TooMuch(f"it takes longer than {LONGEST_S:g} s")
        for value in values:
            weight(value)

    def counted(self, values: Iterable[Any]) -> Iterator[Any]:
        """Yield the values of a loop, each turn of it counted."""
        for value in values:
            self.turns -= 1
            if self.turns < 0:
                raise TooMuch(f"its loops take more than {MOST_TURNS} turns")
            self.charge()
            yield value


def weight(value: Any) -> int:
    """Return how many parts a value has. Raise TooMuch past `MOST_PARTS`; what is shared counts wherever it stands."""
    if isinstance(value, str):
        return _bounded(1 + len(value) // _CHARACTERS)
    total = 1
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            total = _bounded(total + len(part) // _CHARACTERS)
        elif isinstance(part, Mapping):
            total = _bounded(total + 2 * len(part))
            waiting += [*part.keys(), *part.values()]
        elif isinstance(part, (list, tuple, set, frozenset, KeysView, ValuesView, ItemsView)):
            # Counted before they are gone through: a list of lists may stand for any number of parts.
            total = _bounded(total + len(part))
            waiting += part
    return total


def _bounded(total: int) -> int:
    if total > MOST_PARTS:
        raise TooMuch(f"it works on a value of more than {MOST_PARTS} parts")
    return total
