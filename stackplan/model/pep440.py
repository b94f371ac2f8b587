"""`packaging`'s versions, specifiers and requirements, for text that anybody may have written.

Python refuses to make a number of thousands of digits (`sys.set_int_max_str_digits`), and `packaging` lets that
ValueError through, in part only when two versions are compared. Here such text is what it is: no version, no specifier,
no requirement.
"""

import re
from functools import lru_cache

from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as _Requirement
from packaging.specifiers import InvalidSpecifier
from packaging.specifiers import SpecifierSet as _SpecifierSet
from packaging.version import InvalidVersion
from packaging.version import Version as _Version

__all__ = [
    "InvalidRequirement",
    "InvalidSpecifier",
    "InvalidVersion",
    "Requirement",
    "SpecifierSet",
    "Version",
    "requirement",
]

# The lowest limit that Python can be given is 640.
_MOST_DIGITS = 600
_TOO_LONG = re.compile(rf"[0-9]{{{_MOST_DIGITS + 1}}}")
_WHY = f"a number of more than {_MOST_DIGITS} digits"


class Version(_Version):
    """A version by PEP 440. Raise InvalidVersion when `version` is none."""

    __slots__ = ()

    def __init__(self, version: str) -> None:
        if _TOO_LONG.search(version):
            raise InvalidVersion(_WHY)
        super().__init__(version)


class SpecifierSet(_SpecifierSet):
    """Version specifiers by PEP 440. Raise InvalidSpecifier when `specifiers` are none."""

    __slots__ = ()

    def __init__(self, specifiers: str = "", prereleases: bool | None = None) -> None:
        if _TOO_LONG.search(specifiers):
            raise InvalidSpecifier(_WHY)
        super().__init__(specifiers, prereleases)


class Requirement(_Requirement):
    """A requirement by PEP 508. Raise InvalidRequirement when `requirement_string` is none."""

    def __init__(self, requirement_string: str) -> None:
        if _TOO_LONG.search(requirement_string):
            raise InvalidRequirement(_WHY)
        super().__init__(requirement_string)


@lru_cache(maxsize=8192)
def requirement(text: str) -> Requirement:
    """Return the requirement that a text is, read once; nobody may change it. Raise InvalidRequirement."""
    return Requirement(text)
