"""A script from the web run as it comes."""

import re
from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._shell import Command
from stackplan.language.lint._subject import Subject

_FETCHERS = frozenset({"curl", "wget"})
_RUNNERS = re.compile(r"(?:ba|da|z|k)?sh|python[\d.]*|perl|source|\.|eval")
_SUBSTITUTED = re.compile(r"(?:<|\$)\(\s*(?:curl|wget)\b")


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        for at, it in enumerate(step.commands):
            if _runs_what_comes(it, step.commands[at + 1 :]):
                summary = "this runs whatever the address answers, also half of it when the connection breaks"
                remedy = "fetch it with `download` and its sha256, then run the file"
                yield Finding(summary, step.command_at(it), remedy, step.id)


def _runs_what_comes(it: Command, later: tuple[Command, ...]) -> bool:
    if _RUNNERS.fullmatch(it.program):
        return any(_SUBSTITUTED.match(word) for word in it.words[1:])
    if it.program not in _FETCHERS:
        return False
    for following in later:
        if following.before not in ("|", "|&"):
            return False
        if _RUNNERS.fullmatch(following.program):
            return True
    return False


RULE = error(
    "SP169",
    "a script from the web piped into a shell",
    "Nobody has seen what is run, it may be another text tomorrow, and a broken connection leaves a half script that "
    "is executed all the same. `download` compares a digest before the file is there.",
    check,
)
