"""A folder of recorded facts, read back, and what has to be said of it: nothing in it is taken on trust."""

import json
import os
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from stackplan.engine.encoding import Malformed
from stackplan.engine.facts_file import Reading, Recording, decode, file_name, recording_of
from stackplan.engine.json_text import Reader, fault
from stackplan.model.count import counted
from stackplan.model.diagnosis import Diagnosis, Invalid, Severity
from stackplan.model.facts import Facts
from stackplan.model.frozen import dataclass
from stackplan.model.location import Location

LARGEST_BYTES = 256 * 1024 * 1024
_AGAIN = "record them again with `stackplan facts`"
_NAMED = 4


@dataclass(frozen=True, slots=True)
class RecordedNode:
    """The facts of one node, the file that they stood in, and how they came about."""

    facts: Facts
    path: Path
    recording: Recording


def read_folder(folder: Path) -> dict[str, Facts]:
    """Return the facts of all nodes recorded in `folder`, by node. Raise Invalid for what cannot be used."""
    return {node: it.facts for node, it in read_recorded(folder).items()}


def read_recorded(folder: Path) -> dict[str, RecordedNode]:
    """Return the same with where they come from. Raise Invalid, with every file that cannot be used."""
    found: dict[str, RecordedNode] = {}
    reader, reading = Reader(), Reading()
    wrong: list[Diagnosis] = []
    for path in _paths(folder):
        try:
            data = reader.parse(_bytes(path))
            it = RecordedNode(decode(data, reading), path, recording_of(data))
        except (OSError, ValueError, RecursionError) as error:
            wrong.append(_unusable(path, error))
            continue
        if (other := found.get(it.facts.node)) is not None:
            summary = f"two files hold facts of {it.facts.node}"
            observed = f"{other.path.name} and {path.name}"
            wrong.append(Diagnosis(summary=summary, observed=observed, remedy=f"remove one of them from {folder}"))
        found[it.facts.node] = it
    if wrong:
        raise Invalid(wrong)
    return found


def _paths(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".json")
    except (OSError, ValueError) as error:
        summary = f"cannot read the recorded facts in {folder}"
        remedy = "record them with `stackplan facts PLAYBOOK -o DIR`"
        observed = getattr(error, "strerror", None) or str(error)
        raise Invalid([Diagnosis(summary=summary, observed=observed, remedy=remedy)]) from error


def _bytes(path: Path) -> bytes:
    """Return what stands in a file. Raise Malformed for anything else (a pipe would be waited for), OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise Malformed("it is no file")
        if about.st_size > LARGEST_BYTES:
            raise Malformed(f"it is larger than {LARGEST_BYTES} bytes")
        return file.read()


def _unusable(path: Path, error: Exception) -> Diagnosis:
    line = error.lineno if isinstance(error, json.JSONDecodeError) else 1
    column = error.colno if isinstance(error, json.JSONDecodeError) else 1
    why = (error.strerror or str(error)) if isinstance(error, OSError) else fault(error)
    return Diagnosis(summary=f"these are no recorded facts: {why}", at=Location(str(path), line, column), remedy=_AGAIN)


def remarks(
    recorded: Mapping[str, RecordedNode],
    nodes: Sequence[str],
    playbook: str,
    version: str,
    *,
    narrowed: bool,
) -> tuple[Diagnosis, ...]:
    """Return notes on facts that may not be those that are meant. Pure; the same for the same files.

    `nodes` are those that are planned, `playbook` is the digest of its files, `version` that of stackplan; `narrowed`:
    the planned nodes are but some of the playbook's.
    """
    used = [recorded[node] for node in nodes if node in recorded]
    renamed = [it for it in recorded.values() if it.path.name != file_name(it.facts.node)]
    others = [node for node in recorded if node not in {*nodes}]
    return (
        *(_note(f"{it.path.name} holds the facts of {it.facts.node}, going by what stands in it") for it in renamed),
        *(() if narrowed or not others else (_note(f"facts of {_named(others)} are recorded, and not planned here"),)),
        *_outdated(used, playbook, version),
    )


def _outdated(used: Collection[RecordedNode], playbook: str, version: str) -> Iterator[Diagnosis]:
    """Yield a note for facts that were recorded for other files of the playbook, or by another version of stackplan,
    and for such as do not say it.
    """
    if silent := [it.facts.node for it in used if None in (it.recording.playbook, it.recording.stackplan)]:
        summary = (
            f"the facts of {_named(silent)} do not say for which playbook, or by which stackplan, they were recorded"
        )
        yield _note(summary, "they may be older than they look; `stackplan facts` records them anew")
    if old := [it.facts.node for it in used if it.recording.playbook not in (playbook, None)]:
        summary = f"the facts of {_named(old)} were recorded before the playbook was changed"
        yield _note(summary, "what it asks since then is unknown; `stackplan facts` records it anew")
    if other := [it for it in used if it.recording.stackplan not in (version, None)]:
        versions = ", ".join(sorted({str(it.recording.stackplan) for it in other}))
        summary = f"the facts of {_named([it.facts.node for it in other])} were recorded by stackplan {versions}"
        yield _note(f"{summary}, and this is {version}")


def _named(nodes: Sequence[str]) -> str:
    first = ", ".join(nodes[:_NAMED])
    return f"{first} and {counted(len(nodes) - _NAMED, 'more node')}" if len(nodes) > _NAMED else first


def _note(summary: str, remedy: str | None = None) -> Diagnosis:
    return Diagnosis(summary=summary, severity=Severity.NOTE, remedy=remedy)


def nothing_recorded(recorded: Collection[str]) -> Diagnosis:
    """Return why nothing can be planned where no facts are those of a planned node."""
    return Diagnosis(
        summary="facts are recorded of none of the playbook's nodes",
        observed=", ".join(sorted(recorded)[:8]) or "no file in the folder",
        remedy="record them with `stackplan facts PLAYBOOK -o DIR`",
    )
