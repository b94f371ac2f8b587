"""Two steps that do the same."""

from collections.abc import Iterator, Mapping

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Looked, Subject

_ONCE = frozenset({"python_packages", "cuda_toolkit", "apt_packages", "download", "file", "symlink"})
"""Kinds of which a second application does nothing; a restart or a script may well be meant twice."""


def check(subject: Subject) -> Iterator[Finding]:
    first: dict[tuple[object, ...], Looked] = {}
    for step in subject.steps:
        if step.kind not in _ONCE:
            continue
        key = (step.kind, _frozen(step.arguments.values), step.step.user, step.written.when)
        other = first.setdefault(key, step)
        between = subject.steps[other.number + 1 : step.number]
        # A step between them may have undone the first: then the second one puts it back.
        if other is not step and not any(it.kind in (step.kind, "run") for it in between):
            summary = f"this does the same as `{other.id}`: it is satisfied by the time it comes"
            remedy = "take one of the two out, or change what was copied"
            yield Finding(summary, step.step.action.at, remedy, step.id)


def _frozen(value: object) -> object:
    if isinstance(value, Mapping):
        return tuple(sorted((key, _frozen(it)) for key, it in value.items()))
    return tuple(_frozen(it) for it in value) if isinstance(value, tuple) else repr(value)


RULE = warning(
    "SP141",
    "two steps that do the same",
    "A step that was copied and not changed has another id and the same action. It is satisfied when its turn comes, "
    "so that nobody notices that what it was meant to do is never done.",
    check,
)
