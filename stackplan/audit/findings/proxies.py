"""Proxies that some shells have and others lack: an index is then reached from one and not from another."""

from collections.abc import Iterator, Mapping

from stackplan.audit.subject import Subject
from stackplan.audit.told import Place, Told, titles
from stackplan.model.diagnosis import Diagnosis, Severity

_NAMES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


def find(told: Told, subject: Subject) -> Iterator[Diagnosis]:
    if not subject.changed and not subject.settings and "sudo" not in subject.programs:
        return
    for name in _NAMES:
        found: dict[str | None, tuple[Place, ...]] = {}
        for place in (told.step, *told.shells):
            value = _value(place.variables, name)
            found[value] = (*found.get(value, ()), place)
        if len(found) > 1:
            yield Diagnosis(
                code="SP320",
                severity=Severity.NOTE,
                summary=f"{name} is not the same in all shells, so an index may answer one and not another",
                observed="; ".join(
                    f"{titles(it)}: {'not set' if value is None else value}" for value, it in found.items()
                ),
                remedy="Set it in the step's `env`, or in /etc/environment.",
            )


def _value(variables: Mapping[str, str], name: str) -> str | None:
    """Return a proxy as programs find it, by its small or its capital name."""
    return variables.get(name) or variables.get(name.upper()) or None
