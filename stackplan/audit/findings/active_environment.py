"""Another environment that a profile activates: what is done by hand there is done to that one."""

from collections.abc import Iterator

from stackplan.audit.subject import Subject
from stackplan.audit.told import Told, titles
from stackplan.model.diagnosis import Diagnosis, Severity

_KINDS = {"CONDA_PREFIX": "conda", "VIRTUAL_ENV": "virtual"}


def find(told: Told, subject: Subject) -> Iterator[Diagnosis]:
    if not subject.environments:
        return
    meant = {str(it["path"]) for it in told.environments}
    for name, kind in _KINDS.items():
        own = told.step.variables.get(name)
        for value, places in told.values(name).items():
            # An operator who plans for this very machine may have one active, which is no profile's doing.
            if not value or value in meant or (name == "VIRTUAL_ENV" and value == own):
                continue
            yield Diagnosis(
                code="SP310",
                severity=Severity.NOTE,
                summary=f"another {kind} environment is active in {titles(places)}",
                observed=f"{name}={value}",
                remedy="Checks and installations by hand go there. `conda config --set auto_activate false` ends it."
                if name == "CONDA_PREFIX"
                else "Checks and installations by hand go there. Take its activation out of the profile.",
            )
