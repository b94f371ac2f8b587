"""`==X` beside an index of one CUDA release: the same version for another CUDA satisfies it."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Subject
from stackplan.language.lint._wanted import LABELLED


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.installing:
        if step.tag is None or "create" in step.arguments:
            continue
        for it in step.wanted:
            moved = step.upgrades(it.name) or step.reinstalls(it.name)
            if it.pin is not None and it.label is None and it.name in LABELLED and not moved:
                summary = f"`{it.text}` admits every build of that version, also one that is not for {step.tag}"
                remedy = f"pin the label as well: `{it.name}=={it.pin}+{step.tag}`"
                yield Finding(summary, it.at, remedy, step.id)


RULE = warning(
    "SP102",
    "a version pinned without its label beside an index of one CUDA release",
    "`==2.10.0` accepts any local label. Where 2.10.0+cu128 is installed, `torch==2.10.0` from a cu130 index changes "
    "nothing and exits 0. Write the label into the pin, or name the package in `reinstall`. Wheels exist whose "
    "metadata bears no label though their index has one; for those use `reinstall`.",
    check,
)
