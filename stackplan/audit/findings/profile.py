"""A profile that hangs, fails, ends early, or prints although nobody is there to read."""

from collections.abc import Iterator

from stackplan.audit.subject import Subject
from stackplan.audit.told import Told
from stackplan.model.diagnosis import Diagnosis, Severity


def find(told: Told, subject: Subject) -> Iterator[Diagnosis]:  # noqa: ARG001 - all findings are asked alike
    # Of two login shells with one fault it is said once.
    faults = {it.fault: it for it in reversed(told.places) if it.fault is not None and it.name != "sudo"}
    for fault, place in faults.items():
        yield Diagnosis(
            code="SP319",
            severity=Severity.WARNING,
            summary=f"{place.title} of {told.user} ({told.shell}) cannot be used: {fault}",
            remedy="Look into the user's profile and those in /etc. Steps run all the same: they need no login shell.",
        )
    if any(it.noisy for it in told.shells if it.name == "login"):
        yield Diagnosis(
            code="SP319",
            severity=Severity.NOTE,
            summary=f"the profile of {told.user} prints in a login shell that nobody reads",
            remedy="Print only where there is a terminal: `[ -t 1 ] && …`.",
        )
