"""A pipe in a shell without pipefail: the status is that of the last command."""

import re
from collections.abc import Iterator
from itertools import pairwise

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Subject

_SHOWING = frozenset({"tail", "head", "tee", "grep", "sed", "awk", "cat", "less", "sort"})
_MASKING = frozenset({"export", "local", "declare", "readonly"})


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        for first, second in pairwise(step.commands):
            if first.after in ("|", "|&") and not first.pipefail and second.program in _SHOWING and not first.tested:
                summary = f"this shell has no pipefail: of `{first.program} … | {second.program}` only the end counts"
                remedy = "write it as `script`, which stackplan runs with -euo pipefail, or `bash -o pipefail -c`"
                yield Finding(summary, step.command_at(first), remedy, step.id)
        for it in step.commands:
            if it.program in _MASKING and any(re.match(r"\w+=.*\$\(", word) for word in it.words[1:]):
                summary = f"`{it.program} NAME=$(…)` ends with 0, also when the command in it fails"
                remedy = f"assign first, then `{it.program} NAME`"
                yield Finding(summary, step.command_at(it), remedy, step.id)


RULE = warning(
    "SP162",
    "a construct that hides an exit status",
    "`uv pip install … 2>&1 | tail -30` has the status of tail. In a `script` stackplan sets pipefail; in a text for "
    "`sh -c`, or after `set +o pipefail`, nobody does. `export A=$(command)` has the status of export everywhere.",
    check,
)
