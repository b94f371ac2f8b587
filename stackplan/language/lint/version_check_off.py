"""A check of versions switched off."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._subject import Subject

_NAME = "FLASHINFER_DISABLE_VERSION_CHECK"
_SUMMARY = f"{_NAME} lets kernels of another version load, which compute wrong results or crash in service"
_REMEDY = "take it out, and move flashinfer-python, -cubin and -jit-cache to one version"


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.steps:
        for it in step.settings:
            if it.name == _NAME and str(it.value) not in ("", "0"):
                yield Finding(_SUMMARY, it.at, _REMEDY, step.id)


RULE = error(
    "SP180",
    "flashinfer's version check switched off",
    "The variable is offered as a workaround for `flashinfer-cubin version does not match`. With it, kernels of an "
    "old jit-cache loaded beside a new flashinfer and ended in illegal memory accesses, much later, in service.",
    check,
    by_step=True,
)
