"""What lint says of a playbook: its findings, those that the author has answered, and the rules they come from."""

from stackplan.model.diagnosis import Diagnosis, Severity
from stackplan.model.frozen import dataclass
from stackplan.model.location import Location


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleAbout:
    """A rule's documentation. `name` is the stem of its file; a code never changes its meaning.

    `summary` says what the rule objects to, `text` why that matters and what to write instead.
    """

    code: str
    name: str
    severity: Severity
    summary: str
    text: str


@dataclass(frozen=True, slots=True)
class Ignored:
    """A finding that a comment in the playbook answers, with the reason that it gives; `at` is the comment's place."""

    diagnosis: Diagnosis
    reason: str
    at: Location


@dataclass(frozen=True, slots=True)
class Review:
    findings: tuple[Diagnosis, ...] = ()
    ignored: tuple[Ignored, ...] = ()
