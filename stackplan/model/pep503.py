"""Names of Python distributions, by PEP 503 and the specification of core metadata.

`packaging.utils` knows them too, together with the tags of wheels: to import what it needs for those takes a short
command longer than all names of a large playbook.
"""

from functools import lru_cache

from stackplan.model.regular import regular

_MOST_KEPT = 16384
_BETWEEN = regular(r"[-_.]+")
_NAME = regular(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


@lru_cache(_MOST_KEPT)
def canonical_name(name: str) -> str:
    """Return the form in which two names are compared: lower case, runs of `-`, `_` and `.` as one `-`."""
    return _BETWEEN.sub("-", name).lower()


def is_name(text: str) -> bool:
    """Return whether a text can be a distribution's name: ASCII letters, digits and, between them, `-`, `_` and `.`."""
    return _NAME.fullmatch(text) is not None
