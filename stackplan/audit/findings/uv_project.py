"""An environment that belongs to a uv project: `uv run` and `uv sync` put back what its lock says."""

from collections.abc import Iterator

from stackplan.audit.subject import Subject
from stackplan.audit.told import Told
from stackplan.model.diagnosis import Diagnosis, Severity


def find(told: Told, subject: Subject) -> Iterator[Diagnosis]:
    for environment in told.environments:
        venv, project = str(environment["venv"]), environment["project"]
        if venv not in subject.changed:
            continue
        if isinstance(project, dict):
            what = "uv.lock" if project["lock"] is True else "pyproject.toml"
            yield _finding(venv, f"{project['folder']}/{what}", f"the uv project {project['folder']}")
        elif environment["project_environment"] is True:
            yield _finding(venv, "UV_PROJECT_ENVIRONMENT names it", "every uv project that is used there")


def _finding(venv: str, observed: str, owner: str) -> Diagnosis:
    return Diagnosis(
        code="SP311",
        severity=Severity.WARNING,
        summary=f"{venv} belongs to {owner}: the next `uv run` or `uv sync` puts its locked versions back",
        observed=observed,
        remedy="Change the project's lock instead, use another environment, or run with `uv run --no-sync`.",
    )
