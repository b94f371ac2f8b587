"""A running program whose environment a step would change under it."""

from collections.abc import Iterator, Mapping

from stackplan.audit.subject import Subject
from stackplan.audit.told import Told, listed
from stackplan.model.diagnosis import Diagnosis, Severity
from stackplan.model.facts import Plain


def find(told: Told, subject: Subject) -> Iterator[Diagnosis]:
    for environment in told.environments:
        venv = str(environment["venv"])
        users = [it for it in told.processes if it["venv"] == venv]
        if users and venv in subject.changed:
            yield Diagnosis(
                code="SP316",
                severity=Severity.WARNING,
                summary=f"programs run from {venv}: what they load after a change is of the new packages",
                observed=listed(map(_text, users)),
                remedy="Stop them before the change and start them after it; a `service` step does both.",
            )


def _text(row: Mapping[str, Plain]) -> str:
    count = "" if row["count"] == 1 else f"{row['count']} times "
    unit = f" ({row['unit']})" if row["unit"] else ""
    return f"{count}{row['name']} of {row['user']}{unit}"
