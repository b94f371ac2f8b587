"""LD_LIBRARY_PATH and LD_PRELOAD: libraries that come before those of an environment."""

from collections.abc import Iterator

from stackplan.audit.subject import Subject
from stackplan.audit.told import Place, Told, listed, titles
from stackplan.model.diagnosis import Diagnosis, Severity


def find(told: Told, subject: Subject) -> Iterator[Diagnosis]:
    if not subject.environments:
        return
    for value, places in told.values("LD_LIBRARY_PATH").items():
        if value:
            yield from _searched(value, places, told, subject)
    for value, places in told.values("LD_PRELOAD").items():
        if value:
            yield Diagnosis(
                code="SP307",
                severity=Severity.WARNING,
                summary=f"LD_PRELOAD puts a library into every program of {titles(places)}",
                observed=value,
                remedy="Take it away, or set it for the one program that needs it.",
            )


def _searched(value: str, places: tuple[Place, ...], told: Told, subject: Subject) -> Iterator[Diagnosis]:
    parts = value.split(":")
    folders = [it for it in dict.fromkeys(parts) if it in told.libraries]
    where = titles(places)
    if folders:
        # Of the toolkit that the playbook installs they are at least of the release that is wanted.
        meant = all(any(f"{it}/".startswith(f"{toolkit}/") for toolkit in subject.toolkits) for it in folders)
        yield Diagnosis(
            code="SP306",
            severity=Severity.NOTE if meant else Severity.WARNING,
            summary=f"LD_LIBRARY_PATH of {where} puts CUDA libraries before those of the environment's own packages",
            observed="; ".join(f"{it}: {listed(told.libraries[it])}" for it in folders),
            remedy="Leave it empty for Python: its wheels bring their own CUDA libraries and find them.",
        )
    if "" in parts:
        yield Diagnosis(
            code="SP306",
            severity=Severity.WARNING,
            summary=f"LD_LIBRARY_PATH of {where} has an empty part, which is the current folder",
            observed=f"LD_LIBRARY_PATH={value}",
            remedy="Take away the colon at its beginning or end, or the doubled one.",
        )
