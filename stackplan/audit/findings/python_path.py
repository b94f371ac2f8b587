"""Folders from outside on an environment's search path: PYTHONPATH, PYTHONHOME, .pth files, sitecustomize."""

from collections.abc import Iterator

from stackplan.audit.subject import Subject
from stackplan.audit.told import Told, listed, stated, texts
from stackplan.model.diagnosis import Diagnosis, Severity


def find(told: Told, subject: Subject) -> Iterator[Diagnosis]:
    if not subject.environments:
        return
    for name in ("PYTHONPATH", "PYTHONHOME"):
        if any(told.values(name).keys() - {None, ""}):
            yield Diagnosis(
                code="SP308",
                severity=Severity.WARNING,
                summary=f"{name} has Python look elsewhere before it looks into the environment",
                observed="; ".join(stated(told, name)),
                remedy="Take it away where the environment is used. Conditions do not obey it, a server does.",
            )
    for environment in told.environments:
        yield from _inside(str(environment["venv"]), environment["foreign"], texts(environment["customized"]))


def _inside(venv: str, foreign: object, customized: tuple[str, ...]) -> Iterator[Diagnosis]:
    rows = [it for it in foreign if isinstance(it, dict)] if isinstance(foreign, list) else []
    if rows:
        yield Diagnosis(
            code="SP308",
            severity=Severity.NOTE,
            summary=f"{venv} also takes packages from folders outside, which no installer keeps in step with it",
            observed=listed(f"{it['folder']} (by {it['file']})" for it in rows),
            remedy="Uninstall the editable package, or remove the .pth file, unless that is meant.",
        )
    if customized:
        yield Diagnosis(
            code="SP308",
            severity=Severity.NOTE,
            summary=f"code runs in {venv} whenever its Python starts",
            observed=listed(customized),
            remedy="Look at what it does to the search path.",
        )
