"""Durations and sizes as people write them: `30s`, `5m`, `1h`, `30GiB`, `500MB`."""

from stackplan.model.regular import regular

_DURATION = regular(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SIZE = regular(r"(\d+(?:\.\d+)?)\s*(B|[kKMGT]B|[KMGT]iB)")
_POWER = {"k": 1, "K": 1, "M": 2, "G": 3, "T": 4}


def duration_s(text: str) -> float:
    """Return the seconds that `text` names; parts add up (`1h30m`). Raise ValueError when it names no duration."""
    if not text or _DURATION.sub("", text):
        raise ValueError(f"not a duration: {text!r}")
    return sum(float(amount) * _SECONDS[unit] for amount, unit in _DURATION.findall(text))


def size_bytes(text: str) -> int:
    """Return the bytes that `text` names (`MB` is 10^6, `MiB` is 2^20). Raise ValueError when it names no size."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(f"not a size: {text!r}")
    amount, unit = float(match[1]), match[2]
    if unit == "B":
        return int(amount)
    return int(amount * (1024 if unit.endswith("iB") else 1000) ** _POWER[unit[0]])


def duration_text(seconds: float) -> str:
    """Return `seconds` as people read it: `0.4 s`, `12 s`, `3 min 05 s`, `1 h 02 min`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def size_text(size: int) -> str:
    """Return `size` bytes as people read it, in binary units: `512 B`, `1.5 GiB`."""
    amount = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"
