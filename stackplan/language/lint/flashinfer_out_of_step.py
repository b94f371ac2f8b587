"""One of the flashinfer packages moved without the others, or to another version than they."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Looked, Subject
from stackplan.language.lint._wanted import Wanted

_MEMBERS = frozenset({"flashinfer-python", "flashinfer-cubin", "flashinfer-jit-cache"})


def check(subject: Subject) -> Iterator[Finding]:
    found = [(step, it) for step in subject.installing for it in step.wanted if it.name in _MEMBERS]
    yield from _apart(found)
    named = {it.name for _, it in found}
    stated = {it.text("name") for it, _, _ in subject.conditions if it.kind == "package"} & _MEMBERS
    apps = any({"sglang", "vllm"} & step.names for step in subject.installing)
    if "same_build" not in subject.condition_kinds and len(named | stated) == 1 and not apps:
        step, it = found[0] if found else (None, None)
        if step is not None and it is not None:
            summary = f"{it.name} moves alone: flashinfer refuses to start beside parts of another version"
            remedy = "move flashinfer-python, -cubin and -jit-cache together, or state `same_build` of them"
            yield Finding(summary, it.at, remedy, step.id)


def _apart(found: list[tuple[Looked, Wanted]]) -> Iterator[Finding]:
    """Yield a finding for each part whose pin is another version than that of the first."""
    first: dict[str | None, Wanted] = {}
    for step, it in found:
        if it.pin is None:
            continue
        other = first.setdefault(step.venv, it)
        if other.pin is not None and _public(other.pin) != _public(it.pin):
            summary = f"`{it.text}` and `{other.text}` are of two versions: flashinfer refuses to start with them"
            yield Finding(summary, it.at, f"pin both to {_public(other.pin)}", step.id)


def _public(pin: str) -> str:
    return pin.partition("+")[0]


RULE = warning(
    "SP118",
    "flashinfer packages out of step",
    "flashinfer compares the versions of flashinfer-python, flashinfer-cubin and flashinfer-jit-cache when it is "
    "imported and refuses to start where they differ. Since 0.6.14 flashinfer-cubin comes from flashinfer's own index, "
    "so an upgrade from PyPI leaves it behind. Pin them to one version, each from its index, or state `same_build`.",
    check,
)
