"""A nightly index and no version: what comes is whatever was built last night."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Looked, Subject


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.installing:
        nightly = [it for it in step.indexes if it.nightly]
        if not nightly or _version_stated(step):
            continue
        loose = [it for it in step.wanted if it.pin is None and it.url is None]
        if loose:
            summary = f"a nightly index has another `{loose[0].name}` every day: two nodes need not get the same one"
            remedy = f"pin the build: `{loose[0].name}==X.Y.Z.devDATE+{nightly[0].tag or 'cu130'}`"
            yield Finding(summary, nightly[0].at, remedy, step.id)


def _version_stated(step: Looked) -> bool:
    exact = (it.text("version") for it in step.postconditions if it.kind in ("torch", "package"))
    return any(text.startswith("==") for text in exact if text)


RULE = warning(
    "SP111",
    "a nightly index without a version",
    "Nightly indexes move every day and drop builds after some weeks. A node of the second wave gets another build "
    "than the canary on which everything was proven, and the same playbook cannot be run again next month. Pin the "
    "build by its date, or state the version with `==` in a postcondition.",
    check,
)
