"""Postconditions about something else than what the step changes."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Subject

_ANY = frozenset({"command", "python", "http", "port", "library", "kernel_launch", "file"})
_PACKAGES = frozenset(
    {
        "package", "packages_consistent", "same_build", "torch", "cuda_coherent", "python_import",
        "environment_intact", "no_stale_caches",
    }
)  # fmt: skip
_DRIVER = frozenset({"gpu", "driver_coherent", "os", "service", "apt_package", "slurm_node", "kubernetes_node"})
_ABOUT = {
    "python_packages": _PACKAGES,
    "cuda_toolkit": frozenset({"nvcc", "cuda_link", "apt_package"}),
    "apt_packages": _DRIVER | {"nvcc", "cuda_link"},
    "service": frozenset({"service", "gpu"}),
    "reboot": _DRIVER,
    "download": frozenset[str](),
    "file": frozenset({"service", "os"}),
    "symlink": frozenset({"cuda_link", "nvcc"}),
    "slurm_node": frozenset({"slurm_node", "gpu"}),
    "kubernetes_node": frozenset({"kubernetes_node", "gpu"}),
    "clear_caches": frozenset({"no_stale_caches", "disk"}),
}
"""By action: the conditions that can tell its work; an action that is not here may do anything."""


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.steps:
        admitted = _ABOUT.get(step.kind)
        if admitted is None:
            continue
        kinds = list(dict.fromkeys(it.kind for it in step.postconditions))
        if not any(kind in admitted | _ANY for kind in kinds):
            stated = ", ".join(f"`{kind}`" for kind in kinds)
            summary = f"{stated} says nothing of what `{step.kind}` changes, so the step is done before it has begun"
            remedy = f"state one of {', '.join(sorted(admitted or _ANY))}"
            yield Finding(summary, step.postconditions[0].at, remedy, step.id)


RULE = warning(
    "SP131",
    "postconditions that say nothing of what the step changes",
    "A step is done when its postconditions hold. Where they speak of something else, a node on which that is in "
    "order skips the step, and one on which it is not fails though the step did its work. Each kind of action has "
    "conditions that look at what it changes; `command`, `python`, `file`, `http` and `port` may look at anything.",
    check,
)
