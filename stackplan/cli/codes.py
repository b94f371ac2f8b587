"""What each code means: how it is found, and what to do about it; `stackplan explain CODE` shows it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    summary: str
    text: str


CODES: dict[str, Code] = {}
