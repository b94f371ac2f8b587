"""The compiled kernels that a user's tools keep, as the query `kernel_caches` answers it (its shape stands there)."""

from collections.abc import Mapping
from datetime import UTC, datetime

from stackplan.model.change import Held, State
from stackplan.model.facts import Plain
from stackplan.model.frozen import dataclass
from stackplan.model.quantity import size_text

_ONE = {"entries": "entry", "files": "file"}


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleEntry:
    """A folder of stale kernels; `written` is the time of the oldest file in it. Both are None in older facts."""

    path: str
    size: int | None = None
    written: int | None = None

    def __str__(self) -> str:
        parts = [size_text(self.size)] if self.size is not None else []
        if self.written is not None:
            parts.append(f"written {_day(self.written)}")
        return f"{self.path} ({', '.join(parts)})" if parts else self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelCache:
    """One cache. The `stale_` numbers count what does not go with the installed packages; `reasons` say why, by
    entries, and `stale` are the largest of them. `mixed_entries` would be stale, too, and are not the tool's alone:
    nothing removes them; `strays` are why, the first of `stray_count`. `blind` are the first of the `blind_folders` in
    it that could not be looked into, each with the reason. `place` is where it lies when links are followed.
    """

    tool: str
    path: str
    place: str
    exists: bool
    fault: str | None
    entries: int
    files: int
    size: int
    stale_entries: int
    stale_files: int
    stale_size: int
    reasons: Mapping[str, int]
    stale: tuple[StaleEntry, ...]
    mixed_entries: int
    strays: tuple[str, ...]
    stray_count: int
    blind: tuple[str, ...]
    blind_folders: int


def kernel_caches(told: Mapping[str, Plain]) -> tuple[KernelCache, ...]:
    """Return the caches of an answer that are there or could not be looked into."""
    listed = told["caches"]
    assert isinstance(listed, list)
    return tuple(cache for row in listed if isinstance(row, dict) and (cache := _read(row)).exists)


def amount(count: int, size: int, *, complete: bool, of: str = "entries") -> str:
    """Return in words how much that is: `312 entries (1.1 GiB)`, `at least …` where not all was counted."""
    least = "" if complete else "at least "
    return f"{least}{count} {of if count != 1 else _ONE[of]} ({size_text(size)})"


def cache_state(told: Mapping[str, Plain]) -> State:
    """Return the state ("cache", path) of an answer: how many files there are, and how large they are together."""
    complete = told["complete"] is True
    return {
        ("cache", cache.path): Held(amount(cache.files, cache.size, complete=complete, of="files"))
        for cache in kernel_caches(told)
        if cache.files
    }


def cleared(told: Mapping[str, Plain]) -> dict[str, Plain]:
    """Return the answer as it is once all that is stale is gone."""
    listed = told["caches"]
    assert isinstance(listed, list)
    return {**told, "caches": [_cleared(row) if isinstance(row, dict) else row for row in listed]}


def _cleared(row: dict[str, Plain]) -> dict[str, Plain]:
    left = {key: _number(row, key) - _number(row, f"stale_{key}") for key in ("entries", "files", "bytes")}
    none = dict.fromkeys(("stale_entries", "stale_files", "stale_bytes"), 0)
    return {**row, **left, **none, "reasons": [], "examples": [], "stale": []}


def _read(row: dict[str, Plain]) -> KernelCache:
    # Facts that were recorded earlier do not tell of all of this.
    strays = tuple(map(str, _list(row, "strays")))
    return KernelCache(
        tool=str(row["tool"]),
        path=str(row["path"]),
        place=str(row.get("real") or row["path"]),
        exists=row["exists"] is True,
        fault=None if row["fault"] is None else str(row["fault"]),
        entries=_number(row, "entries"),
        files=_number(row, "files"),
        size=_number(row, "bytes"),
        stale_entries=_number(row, "stale_entries"),
        stale_files=_number(row, "stale_files"),
        stale_size=_number(row, "stale_bytes"),
        reasons=_reasons(row["reasons"]),
        stale=_stale(row),
        mixed_entries=_number(row, "mixed_entries") if "mixed_entries" in row else 0,
        strays=strays,
        stray_count=_number(row, "stray_count") if "stray_count" in row else len(strays),
        blind=tuple(map(str, _list(row, "blind"))),
        blind_folders=_number(row, "blind_folders") if "blind_folders" in row else 0,
    )


def _stale(row: Mapping[str, Plain]) -> tuple[StaleEntry, ...]:
    if "stale" not in row:
        return tuple(StaleEntry(path=str(path)) for path in _list(row, "examples"))
    return tuple(
        StaleEntry(path=str(it["path"]), size=_whole(it["bytes"]), written=_whole(it["written"]))
        for it in _list(row, "stale")
        if isinstance(it, dict)
    )


def _whole(value: Plain) -> int | None:
    return value if isinstance(value, int) else None


def _list(row: Mapping[str, Plain], key: str) -> list[Plain]:
    value = row.get(key)
    return value if isinstance(value, list) else []


def _day(seconds: int) -> str:
    """Return the day of a time, as UTC has it; a file may bear any time at all."""
    try:
        return datetime.fromtimestamp(seconds, UTC).date().isoformat()
    except (OverflowError, OSError, ValueError):
        return f"at {seconds} s"


def _reasons(rows: Plain) -> dict[str, int]:
    assert isinstance(rows, list)
    return {str(row["why"]): _number(row, "entries") for row in rows if isinstance(row, dict)}


def _number(row: Mapping[str, Plain], key: str) -> int:
    value = row[key]
    assert isinstance(value, int)
    return value
