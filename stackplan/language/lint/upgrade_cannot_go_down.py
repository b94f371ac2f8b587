"""A step that goes back to an older build and trusts `upgrade` to take it there."""

import re
from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._stated import stated_builds
from stackplan.language.lint._subject import Looked, Subject
from stackplan.language.lint._wanted import LABELLED, cuda_of
from stackplan.model.regular import regular

_BACK = regular(r"\b(?:roll[-_ ]?back|downgrade|revert|go(?:ing)?[-_ ]back)", re.IGNORECASE)
_BACK_TO = regular(r"\bback to (?:cu|CUDA[ -]?)(?P<major>\d{2})\.?(?P<minor>\d)\b", re.IGNORECASE)
_DOWN_FIRST = regular(rf"\W*{_BACK.pattern}", re.IGNORECASE)
"""A reason may speak of what is to be avoided; one that begins so says what the step does."""


def check(subject: Subject) -> Iterator[Finding]:
    whole = subject.playbook.name
    for step, call in subject.installations:
        why = step.step.why or ""
        named_so = any(_BACK.search(text) for text in (whole, step.id, step.step.name or "")) or _DOWN_FIRST.match(why)
        for it in call.wanted:
            build = call.source(it.name)
            exact = it.label is not None or it.url is not None or call.reinstalls(it.name)
            if it.name not in LABELLED or build is None or exact or not call.upgrades(it.name):
                continue
            if named_so or _returns(step, build) or _comes_down(subject, step, build):
                summary = f"`upgrade` never goes to a lower version or label, so `{it.text}` stays what it is"
                remedy = f"name it in `reinstall`, or pin `{it.name}=={it.pin or 'VERSION'}+{build}`"
                yield Finding(summary, it.at, remedy, step.id)


def _returns(step: Looked, build: str) -> bool:
    """Return whether the step's name or reason says that it leads back to this build: `back to cu128`."""
    texts = (it for it in (step.step.name, step.step.why) if it)
    return any(f"cu{it['major']}{it['minor']}" == build for text in texts for it in _BACK_TO.finditer(text))


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
