"""An index of one CUDA release, and a postcondition that wants another one."""

import re
from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._subject import Looked, Statement, Subject
from stackplan.language.lint._wanted import LABELLED, cuda_of


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.installing:
        if step.tag is None:
            continue
        for it in step.postconditions:
            wanted = None if it.negated or it.optional else _wanted(it, step)
            if wanted is not None and wanted != step.tag:
                summary = (
                    f"the index is that of {step.tag}, and the postcondition wants {wanted}: it cannot come to hold"
                )
                remedy = f"take the index of {wanted}, or state {step.tag}"
                yield Finding(summary, it.at, remedy, step.id)


def _wanted(it: Statement, step: Looked) -> str | None:
    """Return the build that a postcondition wants of something that the step takes from its index; None of another."""
    if it.kind == "torch" and "torch" in step.names:
        found = re.fullmatch(r"(\d+)\.(\d)", it.text("cuda") or "")
        return f"cu{found[1]}{found[2]}" if found else None
    if it.kind == "package" and it.text("name") in LABELLED & step.names:
        local = it.text("local")
        return local if local is not None and cuda_of(local) is not None and re.fullmatch(r"cu\d+", local) else None
    return None


RULE = error(
    "SP120",
    "an index and a postcondition of two CUDA releases",
    "The step installs from the index of one CUDA release, and its own postcondition states another one, so that it "
    "fails on every node after the packages were replaced. Usually one of two variables was changed and the other "
    "forgotten.",
    check,
)
