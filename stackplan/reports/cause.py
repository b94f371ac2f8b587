"""What a finding calls the text behind it; pure."""

CAUSED_BY = "caused by "
REASON = "reason    "


def cause_label(cause: str) -> str:
    """Return the words in front of a cause, of one width: a resolver's own sentence begins with `Because` already."""
    return REASON if cause.startswith("Because ") else CAUSED_BY
