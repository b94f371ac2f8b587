"""`unsafe-best-match` beside an index of one CUDA release."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Subject
from stackplan.language.lint._wanted import LABELLED


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.installing:
        if step.arguments.values.get("index_strategy") != "unsafe-best-match" or step.tag is None:
            continue
        loose = [it.name for it in step.wanted if it.name in LABELLED and it.label is None]
        if loose and ("extra_index_urls" in step.arguments or "index_url" not in step.arguments):
            summary = (
                f"of all indexes the highest version of {loose[0]} is taken, which need not be the {step.tag} build"
            )
            remedy = f"leave `index_strategy` out, or pin the label: `{loose[0]}==VERSION+{step.tag}`"
            yield Finding(summary, step.place("index_strategy"), remedy, step.id)


RULE = warning(
    "SP108",
    "the best match of several indexes, where one build is meant",
    "With `unsafe-best-match` the versions of all indexes compete. The public index usually has a newer torch than "
    "the index of one CUDA release, so the plain build wins: 2.11.0 came where 2.10.0+cu130 was meant, with exit "
    "status 0.",
    check,
)
