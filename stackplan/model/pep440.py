"""`packaging`'s versions and specifiers, for text that anybody may have written.

Python refuses to make a number of thousands of digits (`sys.set_int_max_str_digits`), and `packaging` lets that
ValueError through, in part only when two versions are compared. Here such text is what it is: no version, no specifier.
"""

from packaging.specifiers import InvalidSpecifier
from packaging.specifiers import SpecifierSet as _SpecifierSet
from packaging.version import InvalidVersion
from packaging.version import Version as _Version

from stackplan.model.regular import regular

__all__ = [
    "TOO_LONG",
    "WHY",
    "InvalidSpecifier",
    "InvalidVersion",
    "SpecifierSet",
    "Version",
]

# The lowest limit that Python can be given is 640.
_MOST_DIGITS = 600
TOO_LONG = regular(rf"[0-9]{{{_MOST_DIGITS + 1}}}")
"""What a number looks like that is one of these."""
WHY = f"a number of more than {_MOST_DIGITS} digits"


class Version(_Version):
    """A version by PEP 440. Raise InvalidVersion when `version` is none."""

    __slots__ = ()

    def __init__(self, version: str) -> None:
        if TOO_LONG.search(version):
            raise InvalidVersion(WHY)
        super().__init__(version)


class SpecifierSet(_SpecifierSet):
    """Version specifiers by PEP 440. Raise InvalidSpecifier when `specifiers` are none."""

    __slots__ = ()

    def __init__(self, specifiers: str = "", prereleases: bool | None = None) -> None:
        if TOO_LONG.search(specifiers):
            raise InvalidSpecifier(WHY)
        super().__init__(specifiers, prereleases)
