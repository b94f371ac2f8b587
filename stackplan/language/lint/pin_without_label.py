"""`==X` beside an index of one CUDA release: the same version for another CUDA satisfies it."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Subject
from stackplan.language.lint._wanted import LABELLED


def check(subject: Subject) -> Iterator[Finding]:
    for step, call in subject.installations:
        for it in call.wanted:
            build = call.source(it.name)
            moved = call.upgrades(it.name) or call.reinstalls(it.name) or it.url is not None
            if (
                build
                and not call.fresh
                and it.pin is not None
                and it.label is None
                and it.name in LABELLED
                and not moved
            ):
                summary = f"`{it.text}` admits every build of that version, also one that is not for {build}"
                remedy = f"pin the label as well: `{it.name}=={it.pin}+{build}`"
                yield Finding(summary, it.at, remedy, step.id)


RULE = warning(
    "SP102",
    "a version pinned without its label beside an index of one CUDA release",
    "`==2.10.0` accepts any local label. Where 2.10.0+cu128 is installed, `torch==2.10.0` from a cu130 index changes "
    "nothing and exits 0. Write the label into the pin, or name the package in `reinstall`. Wheels exist whose "
    "metadata bears no label though their index has one; for those use `reinstall`.",
    check,
    by_step=True,
)
