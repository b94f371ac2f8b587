"""The compiled kernels that a user's tools keep, as the query `kernel_caches` answers it (its shape stands there)."""

from collections.abc import Mapping

from stackplan.model.change import Held, State
from stackplan.model.facts import Plain
from stackplan.model.frozen import dataclass
from stackplan.model.quantity import size_text

_ONE = {"entries": "entry", "files": "file"}


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelCache:
    """One cache. The `stale_` numbers count what does not go with the installed packages; `reasons` say why, by
    entries. `mixed_entries` would be stale, too, and are not the tool's alone: nothing removes them, `stray` is why.
    """

    tool: str
    path: str
    exists: bool
    fault: str | None
    entries: int
    files: int
    size: int
    stale_entries: int
    stale_files: int
    stale_size: int
    reasons: Mapping[str, int]
    example: str | None
    mixed_entries: int
    stray: str | None


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
    return {**row, **left, **none, "reasons": [], "examples": []}


def _read(row: dict[str, Plain]) -> KernelCache:
    examples, strays = row["examples"], row.get("strays")
    return KernelCache(
        tool=str(row["tool"]),
        path=str(row["path"]),
        exists=row["exists"] is True,
        fault=None if row["fault"] is None else str(row["fault"]),
        entries=_number(row, "entries"),
        files=_number(row, "files"),
        size=_number(row, "bytes"),
        stale_entries=_number(row, "stale_entries"),
        stale_files=_number(row, "stale_files"),
        stale_size=_number(row, "stale_bytes"),
        reasons=_reasons(row["reasons"]),
        example=str(examples[0]) if isinstance(examples, list) and examples else None,
        # Facts that were recorded earlier do not tell of them.
        mixed_entries=_number(row, "mixed_entries") if "mixed_entries" in row else 0,
        stray=str(strays[0]) if isinstance(strays, list) and strays else None,
    )


def _reasons(rows: Plain) -> dict[str, int]:
    assert isinstance(rows, list)
    return {str(row["why"]): _number(row, "entries") for row in rows if isinstance(row, dict)}


def _number(row: Mapping[str, Plain], key: str) -> int:
    value = row[key]
    assert isinstance(value, int)
    return value
