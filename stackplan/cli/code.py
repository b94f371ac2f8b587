"""What `stackplan explain` says of a code."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    summary: str
    text: str
