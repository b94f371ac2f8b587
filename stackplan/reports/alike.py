"""Diagnoses that say the same of several places, together; pure."""

from collections.abc import Iterable

from stackplan.model.diagnosis import Diagnosis
from stackplan.model.regular import regular

_PLACE = regular(r"\b\d+:\d+\b")


def alike(diagnoses: Iterable[Diagnosis]) -> tuple[tuple[Diagnosis, ...], ...]:
    """Return the diagnoses in groups, in the order of the first of each; those without a place stand alone.

    A remedy that names its own place (`add it at 37:7`) is the same edit elsewhere.
    """
    found: dict[object, list[Diagnosis]] = {}
    for index, it in enumerate(diagnoses):
        remedy = _PLACE.sub("", it.remedy or "")
        said = (it.code, it.severity, it.summary, it.expected, it.observed, it.causes, remedy)
        found.setdefault(index if it.at is None else said, []).append(it)
    return tuple(map(tuple, found.values()))
