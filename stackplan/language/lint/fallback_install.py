"""`install A || install B`: what comes when the right build cannot be had."""

from collections.abc import Iterator
from itertools import pairwise

from stackplan.language.lint._installers import installs
from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        for first, second in pairwise(step.commands):
            if second.before == "||" and installs(first) and installs(second):
                summary = "where the first install fails another build is installed, and the step is green"
                remedy = "keep the first alone: a node that cannot have it has to stop"
                yield Finding(summary, step.command_at(second), remedy, step.id)


RULE = error(
    "SP161",
    "an install that falls back to another one",
    "`pip install X+cu130 || pip install X` installs the default build wherever the index of the right one is not "
    "reached, and the test after it passes with the wrong build. Let the step fail, and mend the index.",
    check,
)
