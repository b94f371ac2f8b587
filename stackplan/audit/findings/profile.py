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
            summary=f"what {place.title} of {told.user} ({told.shell}) finds and sets is unknown: {fault}",
            remedy="In the profile, wait, end the shell or start another one only at a terminal: `[ -t 0 ] && …`. The "
            "steps need no login shell and run all the same; only the comparison with it is missing.",
        )
    if any(it.noisy for it in told.shells if it.name == "login"):
        yield Diagnosis(
            code="SP319",
            severity=Severity.NOTE,
            summary=f"the profile of {told.user} prints text in a login shell that has no terminal",
            remedy="Print only at a terminal: `[ -t 1 ] && …`. A program that reads what a command prints in such a "
            "shell takes the text for the command's.",
        )
