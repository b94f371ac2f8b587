"""Numbers of things, in words; imports nothing."""


def counted(count: int, noun: str) -> str:
    """Return `1 node`, `3 nodes`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
