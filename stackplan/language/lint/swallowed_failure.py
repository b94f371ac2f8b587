"""`|| true` and its like: a failure that nobody hears of."""

import re
from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._shell import Command
from stackplan.language.lint._subject import Subject

_NOTHING = frozenset({"true", ":"})
_ANSWERING = frozenset({"grep", "egrep", "fgrep", "test", "[", "[[", "diff", "cmp", "pgrep", "rmdir", "read", "expr"})
"""Programs whose status other than 0 is an answer and no failure."""


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        previous: Command | None = None
        for it in step.commands:
            if it.program == "set" and re.fullmatch(r"\+[a-z]*e[a-z]*", " ".join(it.words[1:2])):
                summary = "`set +e`: from here on every failure is passed over"
                yield Finding(
                    summary, step.command_at(it), "take it out, and test the one command that may fail", step.id
                )
            elif _swallows(it, previous):
                assert previous is not None
                summary = (
                    f"`{previous.program} … {it.before} {it.text}` passes over every failure of {previous.program}"
                )
                remedy = f"test for the case that is meant: `if …; then {previous.program} …; fi`"
                yield Finding(summary, step.command_at(previous), remedy, step.id)
            previous = it


def _swallows(it: Command, previous: Command | None) -> bool:
    if previous is None or it.depth != previous.depth or previous.program in _ANSWERING:
        return False
    nothing = it.program in _NOTHING or it.text == "exit 0"
    return nothing and len(it.words) <= 2 and it.before == "||"


RULE = warning(
    "SP160",
    "a failure that is passed over",
    "`pip uninstall … || true` was written for one harmless case (a missing RECORD) and hides every other failure of "
    "that line; `set +e` hides all of them. stackplan runs scripts with -euo pipefail so that the first failure stops "
    "the step. Programs that answer with their status, such as grep and test, are not meant.",
    check,
)
