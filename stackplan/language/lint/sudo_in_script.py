"""sudo in a script, where nobody can type a password."""

from collections.abc import Iterator

from stackplan.language.lint._installers import verb
from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        for it in step.commands:
            # SP164 speaks of installers.
            if "sudo" in it.wrappers and verb(it) is None:
                summary = "sudo in a script asks for a password half way, or is refused there"
                yield Finding(
                    summary, step.command_at(it), "take `sudo` out and write `become: true` in the step", step.id
                )
                break


RULE = warning(
    "SP176",
    "sudo in a script",
    "`sorry, you must have a tty to run sudo`, and `a terminal is required to read the password`: the script stops in "
    "its middle. sudo also drops DEBIAN_FRONTEND, proxies and PATH. With `become: true` the right to sudo is checked "
    "before the first step runs.",
    check,
)
