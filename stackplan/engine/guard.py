"""The code of kinds, called so that nothing it raises ends a run with a traceback. Standard library only.

A node may answer anything, and a kind may be a stranger's plug-in.
"""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def guarded(call: Callable[[], T], otherwise: Callable[[Exception], T]) -> T:
    """Return what a kind's code answers, or `otherwise` of what it raised."""
    try:
        return call()
    except Exception as error:  # noqa: BLE001 - see the module's contract
        return otherwise(error)


def trouble(word: str, error: Exception) -> str:
    """Word what went wrong inside the code of a kind, for someone who has never seen that code."""
    return f"`{word}` cannot read the node's answer ({type(error).__name__}: {error})"
