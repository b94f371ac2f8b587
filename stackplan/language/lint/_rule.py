"""What a rule is, and what it finds."""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from stackplan.language.lint._subject import Subject
from stackplan.model.diagnosis import Severity
from stackplan.model.frozen import dataclass
from stackplan.model.location import Location


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a rule objects to: what and why in one sentence, and the smallest edit that mends it.

    `secrets` are those that it has found in clear: no finding of any rule is to show them.
    """

    summary: str
    at: Location
    remedy: str
    step: str | None = None
    secrets: tuple[str, ...] = ()


Check: TypeAlias = Callable[[Subject], Iterable[Finding]]
Joined: TypeAlias = Callable[[Iterable[Finding]], Iterable[Finding]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """`check` of one that is `by_step` finds in several steps together what it finds in each of them alone.

    `joined` puts together what it has found everywhere: usually all of it is told.
    """

    code: str
    severity: Severity
    summary: str
    text: str
    check: Check
    by_step: bool = False
    joined: Joined = tuple


def error(code: str, summary: str, text: str, check: Check, *, by_step: bool = False) -> Rule:
    """Return a rule whose findings fail `lint`: what it finds goes wrong wherever it is run."""
    return Rule(code=code, severity=Severity.ERROR, summary=summary, text=text, check=check, by_step=by_step)


def warning(code: str, summary: str, text: str, check: Check, *, by_step: bool = False) -> Rule:
    """Return a rule whose findings are for a reviewer to weigh; with `--strict` they fail `lint` as well."""
    return Rule(code=code, severity=Severity.WARNING, summary=summary, text=text, check=check, by_step=by_step)
