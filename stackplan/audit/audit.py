"""The audit of one user's environment on a node: every finding looks at what was told; pure."""

import importlib
from collections.abc import Callable, Iterable
from functools import cache

from stackplan.audit.subject import Subject
from stackplan.audit.told import Told, read
from stackplan.model.diagnosis import Diagnosis, Severity
from stackplan.model.facts import Answer, Known
from stackplan.model.listing import module_names

Find = Callable[[Told, Subject], Iterable[Diagnosis]]
_FINDINGS = "stackplan.audit.findings"


@cache
def findings() -> tuple[Find, ...]:
    """Return what looks for a finding each, in the order of the modules' names."""
    package = importlib.import_module(_FINDINGS)
    return tuple(importlib.import_module(f"{_FINDINGS}.{name}").find for name in module_names(package.__path__))


def audit(subject: Subject, answer: Answer) -> tuple[Diagnosis, ...]:
    """Return what would surprise the playbook, by code; one note where the node could not tell. Nothing stops it."""
    if not isinstance(answer, Known):
        return (_unanswered(answer.why),)
    try:
        told = read(answer.value)
        found = [it for find in findings() for it in find(told, subject)]
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        return (_unanswered(f"its answer cannot be read ({type(error).__name__}: {error})"),)
    return tuple(sorted(dict.fromkeys(found), key=lambda it: it.code or ""))


def _unanswered(why: str) -> Diagnosis:
    summary = f"the shells and settings of the node could not be looked at: {why}"
    return Diagnosis(code="SP300", severity=Severity.NOTE, summary=summary)
