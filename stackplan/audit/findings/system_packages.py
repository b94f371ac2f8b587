"""An environment that uv does not see all of: one that inherits packages, or one of conda."""

from collections.abc import Iterator

from stackplan.audit.subject import Subject
from stackplan.audit.told import Told
from stackplan.model.diagnosis import Diagnosis, Severity


def find(told: Told, subject: Subject) -> Iterator[Diagnosis]:
    for environment in told.environments:
        venv = str(environment["venv"])
        severity = Severity.WARNING if venv in subject.changed else Severity.NOTE
        if environment["system_packages"] is True:
            yield Diagnosis(
                code="SP309",
                severity=severity,
                summary=f"{venv} sees the packages of the Python that it was made from; uv does not look at those",
                observed="include-system-site-packages = true in its pyvenv.cfg",
                remedy="Make the environment without `--system-site-packages`, or expect a second copy of a package.",
            )
        if environment["conda"] is True:
            yield Diagnosis(
                code="SP309",
                severity=severity,
                summary=f"{venv} is an environment of conda, whose own packages uv and pip do not manage",
                observed="there is a conda-meta in it",
                remedy="Install torch and its like from one of the two only.",
            )
