"""Numbers of things, in words: as everywhere; pure."""

from stackplan.model.count import counted, first_of

__all__ = ["counted", "first_of"]
