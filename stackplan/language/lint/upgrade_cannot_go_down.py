"""A step that goes back to an older build and trusts `upgrade` to take it there."""

import re
from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._stated import stated_builds
from stackplan.language.lint._subject import Looked, Subject
from stackplan.language.lint._wanted import LABELLED, cuda_of

_BACK = re.compile(r"\b(?:roll[-_ ]?back|downgrade|revert|go(?:ing)?[-_ ]back)", re.IGNORECASE)


def check(subject: Subject) -> Iterator[Finding]:
    whole = subject.playbook.name
    for step, call in subject.installations:
        named_so = any(_BACK.search(text) for text in (whole, step.id, step.step.name or ""))
        for it in call.wanted:
            build = call.source(it.name)
            exact = it.label is not None or it.url is not None or call.reinstalls(it.name)
            if it.name not in LABELLED or build is None or exact or not call.upgrades(it.name):
                continue
            if named_so or _comes_down(subject, step, build):
                summary = f"`upgrade` never goes to a lower version or label, so `{it.text}` stays what it is"
                remedy = f"name it in `reinstall`, or pin `{it.name}=={it.pin or 'VERSION'}+{build}`"
                yield Finding(summary, it.at, remedy, step.id)


def _comes_down(subject: Subject, step: Looked, build: str) -> bool:
    """Return whether the playbook itself says that a newer CUDA is there before this step."""
    target = cuda_of(build)
    before = [*subject.preconditions, *step.preconditions]
    for it in before:
        for stated in stated_builds(it):
            there = cuda_of(stated.build)
            if target is not None and there is not None and not it.negated and there > target:
                return True
    return False


RULE = error(
    "SP103",
    "a way back that relies on `upgrade`",
    "`upgrade` moves to a higher version only, and the label counts: cu130 sorts above cu128, and cu128 above cpu. "
    "With 2.10.0+cu130 installed, an upgrade from the cu128 index changes nothing and exits 0 (uv from 0.5.20, and "
    "pip). The rule speaks where the playbook or the step is called a rollback, or where a precondition says that a "
    "newer CUDA is installed. An exact pin with its label, or `reinstall`, goes down.",
    check,
)
