"""Numbers of things, in words, and how many of many are told."""

from collections.abc import Sequence
from typing import TypeVar

Thing = TypeVar("Thing")


def counted(count: int, noun: str) -> str:
    """Return `1 node`, `3 nodes`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def first_of(things: Sequence[Thing], most: int) -> tuple[Sequence[Thing], int]:
    """Return those of `things` that are told one a line, and how many are left for a line that counts them.

    They are the first `most`; all where that line would count one alone, which takes no more room itself.
    """
    left = len(things) - most
    return (things[:most], left) if left > 1 else (things, 0)
