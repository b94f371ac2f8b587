"""A program that shells find in different places, or only some of them."""

from collections.abc import Iterator

from stackplan.audit.subject import Subject
from stackplan.audit.told import Place, Told, titles
from stackplan.model.diagnosis import Diagnosis, Severity


def find(told: Told, subject: Subject) -> Iterator[Diagnosis]:
    for program in subject.programs:
        found: dict[tuple[str, str] | None, list[Place]] = {}
        own = told.step.programs.get(program)
        for place in (told.step, *told.shells):
            # What a login shell lacks and the steps have is no matter for a playbook; a script's sudo is.
            lacks = place.programs.get(program) is None
            if program in place.programs and (own is None or not lacks or place.name == "sudo"):
                found.setdefault(place.programs[program], []).append(place)
        if len({None if it is None else it[1] for it in found}) < 2:
            continue
        lacking = own is None
        severity = Severity.WARNING if lacking else Severity.NOTE
        summary = f"the steps do not find {program}, other shells do" if lacking else f"shells find {program} elsewhere"
        remedy = f"Name {program} by its whole path, or set PATH in the step's `env`."
        yield Diagnosis(code="SP304", severity=severity, summary=summary, observed=_where(found), remedy=remedy)


def _where(found: dict[tuple[str, str] | None, list[Place]]) -> str:
    return "; ".join(f"{titles(places)}: {'none' if it is None else it[0]}" for it, places in found.items())
