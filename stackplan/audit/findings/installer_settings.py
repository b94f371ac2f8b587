"""Settings of the node that decide what uv and pip install: those that steps obey, and those that only others do."""

from collections.abc import Iterator

from stackplan.audit.installer import INSTALLERS, setting_decides, variable_decides
from stackplan.audit.subject import Subject
from stackplan.audit.told import Place, Told, listed, texts, titles
from stackplan.model.diagnosis import Diagnosis, Severity


def find(told: Told, subject: Subject) -> Iterator[Diagnosis]:
    for tool in INSTALLERS:
        if tool in subject.settings:
            yield from _obeyed(tool, told)
        if subject.changed or tool in subject.programs or tool in subject.settings:
            yield from _elsewhere(tool, told)


def _obeyed(tool: str, told: Told) -> Iterator[Diagnosis]:
    """Yield what a script, or a step with `inherit_config`, has `tool` do without saying so."""
    found = [f"{name}={value}" for name, value in told.step.variables.items() if variable_decides(tool, name)]
    for file in told.configuration:
        settings = [it for it in texts(file["settings"]) if setting_decides(tool, it)]
        if file["tool"] == tool and settings:
            found.append(f"{file['path']} ({listed(settings)})")
        elif file["tool"] == tool and file["fault"]:
            found.append(f"{file['path']}: {file['fault']}")
    if found:
        yield Diagnosis(
            code="SP301",
            severity=Severity.WARNING,
            summary=f"settings of the node decide what {tool} installs in steps that do not keep them out",
            observed="; ".join(found),
            remedy=f"Use `python_packages` without `inherit_config`, or name what counts on {tool}'s command line.",
        )


def _elsewhere(tool: str, told: Told) -> Iterator[Diagnosis]:
    """Yield what makes `tool` act otherwise in other shells and services than in the steps."""
    found: list[str] = []
    names: list[str] = []
    where: list[Place] = []
    for name in told.names():
        if not variable_decides(tool, name):
            continue
        own = told.step.variables.get(name)
        for value, places in told.values(name).items():
            if value not in (None, own):
                found.append(f"{name}={value} in {titles(places)}")
                where += places
                names.append(name)
    if found:
        yield Diagnosis(
            code="SP302",
            severity=Severity.NOTE,
            summary=f"{tool} obeys settings in {titles(where)} that the steps do not have, and may install something "
            "else there",
            observed="; ".join(found),
            remedy=f"Remove {listed(names)} there. The steps are not affected, but {tool} by hand may replace what "
            "they installed and proved.",
        )
