"""`unsafe-best-match` beside an index of one CUDA release."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Subject
from stackplan.language.lint._wanted import LABELLED

_FIRST = frozenset({
    "index_url", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "-i", "--index-url", "--default-index",
})  # fmt: skip
_FURTHER = frozenset({
    "extra_index_urls", "UV_EXTRA_INDEX_URL", "UV_INDEX", "--extra-index-url", "--index",
})  # fmt: skip


def check(subject: Subject) -> Iterator[Finding]:
    for step, call in subject.installations:
        if call.strategy != "unsafe-best-match" or call.tag is None:
            continue
        loose = [it for it in call.wanted if it.name in LABELLED and it.label is None]
        fields = {it.field for it in call.indexes}
        if loose and (fields & _FURTHER or not fields & _FIRST):
            name = loose[0].name
            summary = f"of all indexes the highest version of {name} is taken, which need not be the {call.tag} build"
            remedy = f"leave `index_strategy` out, or pin the label: `{name}==VERSION+{call.tag}`"
            at = step.place("index_strategy") if "index_strategy" in step.arguments else loose[0].at
            yield Finding(summary, at, remedy, step.id)


RULE = warning(
    "SP108",
    "the best match of several indexes, where one build is meant",
    "With `unsafe-best-match` the versions of all indexes compete. The public index usually has a newer torch than "
    "the index of one CUDA release, so the plain build wins: 2.11.0 came where 2.10.0+cu130 was meant, with exit "
    "status 0.",
    check,
    by_step=True,
)
