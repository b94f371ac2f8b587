"""apt in a script: it waits for answers, for locks, and does nothing in silence."""

from collections.abc import Iterator

from stackplan.language.lint._apt import verb
from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._shell import Command
from stackplan.language.lint._subject import Subject

_CHANGING = frozenset({"install", "remove", "purge"})
_BY_DPKG = frozenset({"-r", "--remove", "-P", "--purge", "--set-selections"})


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        for it in step.commands:
            done = verb(it) or _of_dpkg(it)
            marks = it.program == "apt-mark" and it.plain[:1] in (("hold",), ("unhold",)) and not it.elsewhere
            if done in _CHANGING or done in _BY_DPKG or marks:
                what = f"{it.program} {done or 'hold'}"
                summary = f"`{what}` in a script may wait for an answer or a lock, and predicts nothing"
                yield Finding(summary, step.command_at(it), "write it as a step `apt_packages`", step.id)


def _of_dpkg(it: Command) -> str | None:
    """Return the option by which dpkg takes a package away or holds it; None where it installs a file, or looks."""
    if it.program != "dpkg" or it.elsewhere or it.has("--dry-run", "--no-act", "--simulate", "--root", "--instdir"):
        return None
    return next((word for word in it.words[1:] if word in _BY_DPKG), None)


RULE = warning(
    "SP166",
    "apt in a script",
    "Configuration questions and needrestart wait for an answer that nobody gives (DEBIAN_FRONTEND does not pass "
    "sudo); a lock fails the step; `kept back` and `already the newest version` end with 0. `apt_packages` runs one "
    "simulated and bounded transaction that removes nothing it was not told to.",
    check,
)
