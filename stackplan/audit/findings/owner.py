"""An environment that belongs to another user than the one who writes into it."""

from collections.abc import Iterator

from stackplan.audit.subject import Subject
from stackplan.audit.told import Told
from stackplan.model.diagnosis import Diagnosis, Severity


def find(told: Told, subject: Subject) -> Iterator[Diagnosis]:
    for environment in told.environments:
        venv, owner = str(environment["venv"]), environment["owner"]
        # Whoever may not write there is refused by the step itself.
        if venv in subject.changed and owner not in (None, told.user):
            yield Diagnosis(
                code="SP312",
                severity=Severity.WARNING,
                summary=f"{venv} belongs to {owner}, who cannot change what {told.user} writes into it",
                remedy=f"Add `user: {owner}` to the step.",
            )
