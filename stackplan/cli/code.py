"""What `stackplan explain` says of a code."""

from stackplan.model.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    summary: str
    text: str
