"""A name that any installed build satisfies, beside an index that is meant to bring another one."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._subject import Looked, Subject
from stackplan.language.lint._wanted import LABELLED, Wanted
from stackplan.language.nearest import alternatives


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.installing:
        if step.indexes and "create" not in step.arguments:
            kept = [it for it in step.wanted if _kept(step, it)]
            if kept:
                yield Finding(_summary(step, kept), kept[0].at, _remedy(step, kept[0]), step.id)


def _kept(step: Looked, it: Wanted) -> bool:
    if it.pin is not None or it.url is not None or step.upgrades(it.name) or step.reinstalls(it.name):
        return False
    return step.tag is not None or it.name in LABELLED


def _summary(step: Looked, kept: list[Wanted]) -> str:
    shown = alternatives([it.text for it in kept]).replace(" or ", " and ")
    field = step.indexes[0].field
    return f"any installed build satisfies {shown}, so {field} is not looked at and the installer does nothing"


def _remedy(step: Looked, it: Wanted) -> str:
    label = f"+{step.tag}" if step.tag else "+cu130"
    return f"add `upgrade: true` to the step, or pin the build: `{it.name}==VERSION{label}`"


RULE = error(
    "SP101",
    "a package name without a version beside an index: an installed build is kept",
    "A requirement that is satisfied is not looked up anywhere. With torch 2.10.0+cu128 installed, `uv pip install "
    "torch --index-url …/cu130` says `Checked 1 package`, exits 0 and changes nothing; so does a range such as "
    "`torch>=2.4,<2.11`, and pip. The index matters only when something has to be fetched. Ask for the newest build "
    "with `upgrade: true`, take the index's build whatever is there with `reinstall`, or pin the version with its "
    "label. Silent in a step that has `create`.",
    check,
)
