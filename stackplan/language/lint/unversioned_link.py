"""/usr/local/cuda in a playbook that installs a toolkit beside it."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Looked, Subject
from stackplan.model.regular import regular

_LINK = regular(r"/usr/local/cuda(?![-\w.])")
_VERSIONED = regular(r"/usr/local/cuda-\d")
_WHY = "/usr/local/cuda leads to whichever toolkit was installed last, which need not be that of this playbook"


def check(subject: Subject) -> Iterator[Finding]:
    toolkits = [it for it in subject.steps if it.kind == "cuda_toolkit"]
    if not toolkits or any(it.arguments.values.get("default") is True for it in toolkits):
        return
    if any(it.kind == "symlink" and it.arguments.values.get("path") == "/usr/local/cuda" for it in subject.steps):
        return
    yield from _through_link(subject, _remedy(toolkits))


def _remedy(toolkits: list[Looked]) -> str:
    prefix = next((str(it.arguments.values.get("prefix")) for it in toolkits if "prefix" in it.arguments), None)
    return f"write {prefix if prefix and _VERSIONED.match(prefix) else 'the prefix with its version'}"


def _through_link(subject: Subject, remedy: str) -> Iterator[Finding]:
    for step in subject.steps:
        for name, value, at in step.environment:
            if isinstance(value, str) and _LINK.search(value):
                yield Finding(f"{name}: {_WHY}", at, remedy, step.id)
        for command in step.commands:
            if not command.elsewhere and _LINK.search(command.text):
                yield Finding(_WHY, step.command_at(command), remedy, step.id)
    for it, looked, _ in subject.conditions:
        for name in ("prefix", "path"):
            if it.kind == "nvcc" and _LINK.search(it.text(name) or ""):
                yield Finding(_WHY, it.arguments.place(name), remedy, None if looked is None else looked.id)


RULE = warning(
    "SP135",
    "/usr/local/cuda beside a toolkit with a version in its prefix",
    "A `cuda_toolkit` step leaves the link /usr/local/cuda where it was unless it says `default: true`. A script, an "
    "environment or a condition that goes through the link then uses the old toolkit: `The detected CUDA version "
    "mismatches the version that was used to compile PyTorch`.",
    check,
)
