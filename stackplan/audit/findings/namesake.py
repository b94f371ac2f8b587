"""Several environments of one name: which one is used is easily mistaken."""

from collections.abc import Iterator

from stackplan.audit.subject import Subject
from stackplan.audit.told import Told, listed, texts
from stackplan.model.diagnosis import Diagnosis, Severity


def find(told: Told, subject: Subject) -> Iterator[Diagnosis]:
    for environment in told.environments:
        others = texts(environment["namesakes"])
        if others and environment["venv"] in subject.environments:
            yield Diagnosis(
                code="SP315",
                severity=Severity.NOTE,
                summary=f"there is more than one environment of this name; the playbook means {environment['path']}",
                observed=listed(others),
                remedy="Look at which one the service starts, and write its whole path in `venv`.",
            )
