"""One thing that is wrong, with everything a person needs to mend it."""

import enum
from collections.abc import Iterable
from dataclasses import replace

from stackplan.model.frozen import dataclass
from stackplan.model.location import Location


class Severity(enum.Enum):
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """A record of what is wrong; `remedy` is the smallest edit that mends it, or None when only a guess would be left.

    `code` is None for a plain error of reading; `SP1xx` is a lint rule, `SP2xx` one from evidence. `source` is the
    line of the file at `at`, for the caret. `span` is how many characters the caret underlines.
    """

    summary: str
    severity: Severity = Severity.ERROR
    code: str | None = None
    expected: str | None = None
    observed: str | None = None
    at: Location | None = None
    source: str | None = None
    span: int = 1
    step: str | None = None
    causes: tuple[str, ...] = ()
    remedy: str | None = None
    remedy_at: Location | None = None

    def in_step(self, step: str) -> "Diagnosis":
        return replace(self, step=step)


class Invalid(Exception):
    """A file, flag or argument cannot be used; carries every diagnosis, sorted by place (exit status 2)."""

    def __init__(self, diagnoses: "tuple[Diagnosis, ...] | list[Diagnosis]") -> None:
        unique = dict.fromkeys(diagnoses)
        self.diagnoses = tuple(
            sorted(unique, key=lambda it: (it.at is not None, it.at or Location("", 0, 0), it.summary))
        )
        super().__init__("; ".join(it.summary for it in self.diagnoses))


def besides(told: Iterable[Diagnosis], more: Iterable[Diagnosis]) -> tuple[Diagnosis, ...]:
    """Return those of `more` that do not say what `told` says of the same place."""
    known = {(it.at, it.summary) for it in told}
    return tuple(it for it in more if (it.at, it.summary) not in known)
