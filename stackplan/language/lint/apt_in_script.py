"""apt in a script: it waits for answers, for locks, and does nothing in silence."""

from collections.abc import Iterator

from stackplan.language.lint._apt import verb
from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Subject

_CHANGING = frozenset({"install", "remove", "purge"})


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        for it in step.commands:
            done = verb(it)
            marks = it.program == "apt-mark" and it.plain[:1] in (("hold",), ("unhold",)) and not it.elsewhere
            if done in _CHANGING or marks:
                what = f"{it.program} {done or 'hold'}"
                summary = f"`{what}` in a script may wait for an answer or a lock, and predicts nothing"
                yield Finding(summary, step.command_at(it), "write it as a step `apt_packages`", step.id)


RULE = warning(
    "SP166",
    "apt in a script",
    "Configuration questions and needrestart wait for an answer that nobody gives (DEBIAN_FRONTEND does not pass "
    "sudo); a lock fails the step; `kept back` and `already the newest version` end with 0. `apt_packages` runs one "
    "simulated and bounded transaction that removes nothing it was not told to.",
    check,
)
