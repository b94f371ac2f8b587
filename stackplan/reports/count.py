"""Numbers of things, in words: as everywhere; pure."""

from stackplan.model.count import counted

__all__ = ["counted"]
