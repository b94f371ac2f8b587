"""A `when` that is the same on every node."""

from collections.abc import Iterator

from stackplan.language.expression import condition
from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Subject
from stackplan.language.yielded import BadTemplate


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.steps:
        when = step.written.when
        if when is None:
            continue
        try:
            found = condition(when)
            constant = None if found.names else found.holds({})
        except BadTemplate:
            continue
        if constant is not None:
            what = "always holds, so it says nothing" if constant else "never holds, so the step never runs"
            remedy = "take `when` out" if constant else "take the step out, or name a variable in `when`"
            yield Finding(f"`when: {when}` {what}", step.step.when_at or step.step.at, remedy, step.id)


RULE = warning(
    "SP140",
    "a `when` without a variable",
    "An expression that names no variable gives the same answer on every node. One that never holds is usually a step "
    "that somebody switched off for a moment; the run is green without it.",
    check,
    by_step=True,
)
