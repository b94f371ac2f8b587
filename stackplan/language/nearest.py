"""The one "did you mean": which of the names that may stand somewhere is meant by one that may not."""

from collections.abc import Iterable

_CANDIDATES = 5_000
"""Beyond so many names the search would cost more than the hint is worth."""


def nearest(name: str, names: Iterable[str], *, most: int = 3) -> tuple[str, ...]:
    """Return the names that `name` may be a slip of, most alike first; none when all are too far off."""
    by_folded: dict[str, str] = {}
    for it in names:
        by_folded.setdefault(_folded(it), it)
        if len(by_folded) >= _CANDIDATES:
            break
    if len(name) > 100:
        return ()
    import difflib  # noqa: PLC0415 - spared by whoever makes no slip

    found = difflib.get_close_matches(_folded(name), by_folded, n=most, cutoff=0.7)
    return tuple(by_folded[it] for it in found)


def did_you_mean(name: str, names: Iterable[str]) -> str | None:
    """Return the question as a remedy, or None when no name is near."""
    found = nearest(name, names)
    if not found:
        return None
    return f"did you mean {alternatives(found)}?"


def alternatives(names: Iterable[str], word: str = "or") -> str:
    """Return names as people list them: `a`, `b` or `c`."""
    quoted = [f"`{it}`" for it in names]
    if len(quoted) < 2:
        return "".join(quoted)
    return f"{', '.join(quoted[:-1])} {word} {quoted[-1]}"


def _folded(name: str) -> str:
    return name.lower().replace("-", "_")
