"""Regular expressions that are compiled when they are first asked: in one command most of them never are.

The rules of lint alone have some two hundred, and to compile them takes longer than to read the modules that they
stand in.
"""

import re
from typing import Any, AnyStr, Generic, cast

_ASKED = ("search", "match", "fullmatch", "finditer", "findall", "split", "sub", "subn")


def regular(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return what `re.compile` does, for all uses but `isinstance`; what is wrong in it raises where it is asked."""
    return cast("re.Pattern[AnyStr]", Late(pattern, flags))


class Late(Generic[AnyStr]):
    """A pattern that nobody has asked so far; afterwards its methods are those of the compiled one."""

    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self.pattern: AnyStr = pattern
        self._given = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._given)
        for method in _ASKED:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)
