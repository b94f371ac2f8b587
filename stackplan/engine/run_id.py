"""The name of a run: when it started, so that names stand in the order of time, and some digits that tell two apart."""

import secrets

_A_MILLISECOND = 65
"""So many numbers of four hexadecimal digits there are for each millisecond of a second."""


def run_id(now: str) -> str:
    """Return an id such as `20261201T031022Z-4f2a` for a run that starts at `now` (ISO 8601 in UTC).

    Its digits grow with the milliseconds, where `now` has them; the rest is random.
    """
    second, _, fraction = now.removesuffix("Z").partition(".")
    stamp = second.replace("-", "").replace(":", "")
    if not fraction:
        return f"{stamp}Z-{secrets.token_hex(2)}"
    number = int(fraction[:3].ljust(3, "0")) * _A_MILLISECOND + secrets.randbelow(_A_MILLISECOND)
    return f"{stamp}Z-{number:04x}"
