"""Where in a file something stands."""

from stackplan.model.frozen import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A place in a text file; line and column count from 1, as editors do."""

    path: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}"
