"""The name of a run: when it started, and four random digits so that two of one second differ."""

import secrets


def run_id(now: str) -> str:
    """Return an id such as `20261201T031022Z-4f2a` for a run that starts at `now` (ISO 8601 in UTC)."""
    stamp = now.split(".", maxsplit=1)[0].removesuffix("Z").replace("-", "").replace(":", "")
    return f"{stamp}Z-{secrets.token_hex(2)}"
