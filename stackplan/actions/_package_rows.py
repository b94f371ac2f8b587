"""The packages of an environment as rows of `distributions`, and what becomes of them. Pure; imports model only.

Nodes of a fleet whose environments hold the same packages go the same way, step by step, whatever their folders are
called. So what follows from the rows alone is worked out once, and found again by the very rows.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import TypeAlias

from stackplan.actions._dry_run import DryRun
from stackplan.model.arguments import Value
from stackplan.model.facts import Plain
from stackplan.model.pep503 import canonical_name
from stackplan.model.same import Same

Row: TypeAlias = dict[str, Plain]
Rows: TypeAlias = tuple[Row, ...]
_KEPT = 128
"""Ways from one set of packages to another that are kept at hand; a plan has a few a step."""


def read_rows(answer: list[Plain]) -> Rows:
    """Return the rows of an answer of `distributions`."""
    return _read(Same(answer))


def listed_rows(rows: Rows) -> list[Plain]:
    """Return rows as an answer has them; of the very same rows the very same list."""
    return _listed(Same(rows))


def without(rows: Rows, names: tuple[str, ...]) -> tuple[Rows, tuple[str, ...]]:
    """Return the rows without those of these names that can be taken away, and the latter's folders on disk.

    Where there is none of them, the very same rows.
    """
    return _without(Same(rows), names)


def installed(rows: Rows, dry_run: DryRun, token: int) -> Rows:
    """Return the rows with those of what a dry run would install; `token` tells one round of them from another."""
    return _installed(Same(rows), Same(dry_run.after), Same(dry_run.metadata), token)


def predicted(rows: Rows) -> tuple[Value, ...]:
    """Return what a dry run has to know of the rows that are not on disk."""
    return _predicted(Same(rows))


def changed_names(before: Rows, after: Rows) -> frozenset[str]:
    """Return the canonical names whose distributions are others than before."""
    return _changed(Same(before), Same(after))


@lru_cache(maxsize=_KEPT)
def _read(answer: Same[list[Plain]]) -> Rows:
    return tuple(row for row in answer.it if isinstance(row, dict))


@lru_cache(maxsize=_KEPT)
def _listed(rows: Same[Rows]) -> list[Plain]:
    return list(rows.it)


@lru_cache(maxsize=_KEPT)
def _without(rows: Same[Rows], names: tuple[str, ...]) -> tuple[Rows, tuple[str, ...]]:
    gone = [row for row in rows.it if own(row) and canonical(row) in names and not lacks_record(row)]
    if not gone:
        return rows.it, ()
    on_disk = tuple(str(row["folder"]) for row in gone if "metadata" not in row)
    return tuple(row for row in rows.it if row not in gone), on_disk


@lru_cache(maxsize=_KEPT)
def _installed(
    rows: Same[Rows],
    after: Same[Mapping[str, str | None]],
    metadata: Same[Mapping[str, Mapping[str, Plain]]],
    token: int,
) -> Rows:
    added = [
        _row(name, version, metadata.it.get(name, {}), token)
        for name, version in after.it.items()
        if version is not None
    ]
    names = {canonical(row) for row in added}
    kept = [row for row in rows.it if own(row) or canonical(row) not in names]
    owned = sorted([*(row for row in kept if own(row)), *added], key=lambda row: str(row["folder"]))
    return (*owned, *(row for row in kept if not own(row)))


@lru_cache(maxsize=_KEPT)
def _predicted(rows: Same[Rows]) -> tuple[Value, ...]:
    return tuple(
        {
            "folder": str(row["folder"]),
            "metadata": frozen(row["metadata"]),
            "direct_url": frozen(row["direct_url"]),
        }
        for row in rows.it
        if "metadata" in row
    )


@lru_cache(maxsize=_KEPT)
def _changed(before: Same[Rows], after: Same[Rows]) -> frozenset[str]:
    old = {str(row["folder"]): row for row in before.it}
    new = {str(row["folder"]): row for row in after.it}
    pairs = [(old.get(it), new.get(it)) for it in old.keys() | new.keys() if old.get(it) != new.get(it)]
    return frozenset(canonical(row) for pair in pairs for row in pair if row is not None)


def own(row: Row) -> bool:
    return row.get("inherited") is not True


def lacks_record(row: Row) -> bool:
    return row.get("record_sha256") is None and str(row["folder"]).endswith(".dist-info")


def canonical(row: Row) -> str:
    return canonical_name(str(row["name"]))


def frozen(value: Plain) -> Value:
    if isinstance(value, dict):
        return {key: frozen(item) for key, item in value.items()}
    return tuple(frozen(item) for item in value) if isinstance(value, list) else value


def _row(name: str, version: str, about: Mapping[str, Plain], token: int) -> Row:
    """Return the row that `distributions` would have, with the metadata that later dry runs need."""
    why = about.get("why")
    known = why is None and bool(about)
    folder = about.get("folder") if known else None
    metadata: Row = {"name": name, "version": version, "requires": []}
    if known:
        metadata = {key: about[key] for key in ("name", "version", "requires", "requires_python", "provides_extra")}
    url = about.get("url")
    direct = about.get("direct") is True and isinstance(url, str) and "://" in url
    return {
        "name": metadata["name"],
        "version": metadata["version"],
        "folder": folder if isinstance(folder, str) else f"{name.replace('-', '_')}-{version}.dist-info",
        "requires": metadata["requires"],
        "record_sha256": f"predicted {token}",
        "fault": None if known else "unreadable-metadata",
        "metadata": metadata,
        "direct_url": f'{{"url": "{url}", "archive_info": {{}}}}' if direct else None,
    }
