"""Where an installation writes: too little room, or a cache on another filesystem."""

from collections.abc import Iterator, Mapping

from stackplan.audit.subject import Subject
from stackplan.audit.told import Told
from stackplan.model.diagnosis import Diagnosis, Severity
from stackplan.model.facts import Plain

_GIB = 1024**3
_LEAST_BYTES = {"environment": 5 * _GIB, "cache": 5 * _GIB, "temporary": _GIB}
_ROLES = {"environment": "the environment", "cache": "uv's cache", "temporary": "the folder for temporary files"}


def find(told: Told, subject: Subject) -> Iterator[Diagnosis]:
    if not subject.changed:
        return
    if scarce := [it for it in told.space if _bytes(it) < _LEAST_BYTES[str(it["role"])]]:
        yield Diagnosis(
            code="SP313",
            severity=Severity.WARNING,
            summary="there is little room where an installation writes; torch and its libraries take 5 GiB and more",
            observed="; ".join(f"{_text(it)}: {_bytes(it) / _GIB:.1f} GiB free" for it in scarce),
            remedy="Make room, or state what is needed as a precondition: `disk: {path, free}`.",
        )
    caches = [it for it in told.space if it["role"] == "cache"]
    homes = [it for it in told.space if it["role"] == "environment"]
    apart = [it for it in homes if caches and it["filesystem"] != caches[0]["filesystem"]]
    if apart and "uv" in subject.programs:
        yield Diagnosis(
            code="SP314",
            severity=Severity.NOTE,
            summary="uv's cache and the environment are on two filesystems, so files are copied and take room twice",
            observed="; ".join(_text(it) for it in (*caches, *apart)),
            remedy="Set UV_CACHE_DIR in the step's `env` to a folder beside the environment.",
        )


def _bytes(row: Mapping[str, Plain]) -> int:
    free = row["free_bytes"]
    if not isinstance(free, int):
        raise TypeError("`free_bytes` is no number")
    return free


def _text(row: Mapping[str, Plain]) -> str:
    return f"{_ROLES[str(row['role'])]} ({row['path']})"
