"""A profile for interactive shells read in a script or condition."""

import re
from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._shell import Command
from stackplan.language.lint._subject import Subject

_PROFILE = re.compile(r"(?:^|/)\.(?:bashrc|zshrc|bash_profile|profile)$")
_SUMMARY = "a profile for interactive shells returns at once in this one, or sets other paths than the service has"
_REMEDY = "name programs by their whole path, or set what is needed in `env`"


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        for it in step.commands:
            if _reads_profile(it):
                yield Finding(_SUMMARY, step.command_at(it), _REMEDY, step.id)
    for told, statement, looked in subject.asked:
        if any(_reads_profile(it) for it in told):
            yield Finding(_SUMMARY, statement.at, _REMEDY, None if looked is None else looked.id)


def _reads_profile(it: Command) -> bool:
    return it.program in ("source", ".") and any(_PROFILE.search(word) for word in it.words[1:2])


RULE = warning(
    "SP177",
    "an interactive shell's profile in a script",
    "~/.bashrc begins with `not interactive: return` on most systems, so what stands below it is not set; and what is "
    "set is one person's, not the service's. A check by hand then passes and the node's service finds another nvcc.",
    check,
)
