"""CUDA_HOME and CUDA_PATH: another toolkit than the playbook's, than nvcc's, than in another shell, or none at all."""

from collections.abc import Iterator

from stackplan.audit.subject import Subject
from stackplan.audit.told import Place, Told, stated
from stackplan.model.diagnosis import Diagnosis, Severity

_REMEDY = "Set it to one toolkit's folder in the profile, in /etc/environment and in the services' units."


def find(told: Told, subject: Subject) -> Iterator[Diagnosis]:
    if not subject.environments and not subject.toolkits:
        return
    for name in ("CUDA_HOME", "CUDA_PATH"):
        yield from _of(name, told, subject)


def _of(name: str, told: Told, subject: Subject) -> Iterator[Diagnosis]:
    values = told.values(name)
    given = [value for value in values if value is not None]
    if not given:
        return
    observed = "; ".join(stated(told, name))
    real = {value: told.toolkits.get(value) for value in given}
    why = _fault(name, told, real, subject.toolkits)
    if why is not None:
        yield Diagnosis(code="SP305", severity=Severity.WARNING, summary=why, observed=observed, remedy=_REMEDY)
    elif len({*real.values()}) > 1 or None in values:
        summary = f"{name} is not the same everywhere, so kernels are compiled anew, or with another toolkit"
        yield Diagnosis(code="SP305", severity=Severity.NOTE, summary=summary, observed=observed, remedy=_REMEDY)


def _fault(name: str, told: Told, real: dict[str, str | None], wanted: tuple[str, ...]) -> str | None:
    """Return what is wrong with one of the values, or None."""
    if missing := [value for value, found in real.items() if found is None]:
        return f"{name} leads to {missing[0]}, where there is no nvcc"
    # A toolkit that the playbook names by a link is known by where the link leads.
    meant = {*wanted, *(found for value, found in real.items() if value in wanted)}
    if wanted and (stray := [value for value, found in real.items() if value not in meant and found not in meant]):
        return f"{name} leads to {stray[0]}, and the playbook is about {', '.join(wanted)}"
    for place in (told.step, *told.shells):
        if (path := _other_compiler(place, name, real)) is not None:
            return f"{name} and the nvcc on the search path are of two toolkits: {place.variables[name]} and {path}"
    return None


def _other_compiler(place: Place, name: str, real: dict[str, str | None]) -> str | None:
    home, nvcc = real.get(place.variables.get(name, "")), place.programs.get("nvcc")
    return nvcc[0] if home and nvcc and nvcc[1] != f"{home}/bin/nvcc" else None
