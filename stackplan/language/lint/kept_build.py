"""A name that any installed build satisfies, beside an index that is meant to bring another one."""

from collections.abc import Iterator

from stackplan.language.lint._installation import Installation
from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._subject import Looked, Subject
from stackplan.language.lint._wanted import LABELLED, Wanted
from stackplan.language.nearest import alternatives


def check(subject: Subject) -> Iterator[Finding]:
    for step, call in subject.installations:
        if not call.fresh and (kept := [it for it in call.wanted if _kept(call, it)]):
            yield Finding(_summary(call, kept), kept[0].at, _remedy(step, call, kept[0]), step.id)


def _kept(call: Installation, it: Wanted) -> bool:
    if it.pin is not None or it.url is not None or call.upgrades(it.name) or call.reinstalls(it.name):
        return False
    return call.source(it.name) is not None or (it.name in LABELLED and bool(call.indexes or call.backend))


def _summary(call: Installation, kept: list[Wanted]) -> str:
    shown = alternatives([it.text for it in kept]).replace(" or ", " and ")
    return f"any installed build satisfies {shown}, so {call.field} is not looked at and the installer does nothing"


def _remedy(step: Looked, call: Installation, it: Wanted) -> str:
    upgrade = "`upgrade: true` to the step" if step.installs else "`--upgrade`"
    return f"add {upgrade}, or pin the build: `{it.name}==VERSION+{call.source(it.name) or call.backend or 'cu130'}`"


RULE = error(
    "SP101",
    "a package name without a version beside an index: an installed build is kept",
    "A requirement that is satisfied is not looked up anywhere. With torch 2.10.0+cu128 installed, `uv pip install "
    "torch --index-url …/cu130` says `Checked 1 package`, exits 0 and changes nothing; so does a range such as "
    "`torch>=2.4,<2.11`, and pip. The index matters only when something has to be fetched. Ask for the newest build "
    "with `upgrade: true`, take the index's build whatever is there with `reinstall`, or pin the version with its "
    "label. Silent in a step that has `create`.",
    check,
    by_step=True,
)
