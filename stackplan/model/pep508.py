"""`packaging`'s requirements, for text that anybody may have written: one with too long a number is none (`pep440`).

Apart from versions and specifiers, because a grammar takes its time to import.
"""

from functools import lru_cache

from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as _Requirement

from stackplan.model.pep440 import TOO_LONG, WHY

__all__ = ["InvalidRequirement", "Requirement", "requirement"]


class Requirement(_Requirement):
    """A requirement by PEP 508. Raise InvalidRequirement when `requirement_string` is none."""

    def __init__(self, requirement_string: str) -> None:
        if TOO_LONG.search(requirement_string):
            raise InvalidRequirement(WHY)
        super().__init__(requirement_string)


@lru_cache(maxsize=8192)
def requirement(text: str) -> Requirement:
    """Return the requirement that a text is, read once; nobody may change it. Raise InvalidRequirement."""
    return Requirement(text)
