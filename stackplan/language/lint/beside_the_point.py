"""Postconditions about something else than what the step changes."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Looked, Subject
from stackplan.model.frozen import dataclass
from stackplan.model.regular import regular

_ANY = frozenset({"command", "python", "http", "port", "library", "kernel_launch", "file"})
_ENVIRONMENT = frozenset(
    {"package", "packages_consistent", "same_build", "torch", "environment_intact", "no_stale_caches"}
)
_PACKAGES = _ENVIRONMENT | {"cuda_coherent", "python_import"}
_DRIVER = frozenset({"gpu", "driver_coherent", "os", "service", "apt_package", "slurm_node", "kubernetes_node"})


@dataclass(frozen=True, slots=True)
class _About:
    """The conditions that look at what an action changes, and those that may tell its work as well."""

    proposed: frozenset[str]
    admitted: frozenset[str] = frozenset()


def _about(*proposed: str, admitted: frozenset[str] = frozenset()) -> _About:
    return _About(frozenset(proposed), admitted)


_ABOUT = {
    "python_packages": _About(_PACKAGES),
    "cuda_toolkit": _about("nvcc", "cuda_link", admitted=frozenset({"apt_package"})),
    "apt_packages": _about("apt_package", "driver_coherent", admitted=_DRIVER | {"nvcc", "cuda_link"}),
    "service": _about(
        "service", admitted=frozenset({"gpu", "driver_coherent", "slurm_node", "kubernetes_node", "sudo"})
    ),
    "reboot": _about("os", "driver_coherent", "gpu", "service", admitted=_DRIVER),
    "download": _about("file", "command"),
    "slurm_node": _about("slurm_node", admitted=frozenset({"gpu"})),
    "kubernetes_node": _about("kubernetes_node", admitted=frozenset({"gpu"})),
    "clear_caches": _about("no_stale_caches", "disk"),
}
"""By action; an action that is not here may do anything."""
_WRITING = {"file": ("file", "service", "command"), "symlink": ("file", "cuda_link", "nvcc", "command")}
"""What is proposed where a file is written: a profile, sudoers, slurm.conf, each is told by a condition of its own."""
_BEYOND_A_FILE = {"file": _ENVIRONMENT | {"apt_package", "disk", "os"}, "symlink": frozenset({"apt_package", "os"})}
"""What no file alters, wherever it lies; a link may lead to another environment or filesystem."""
_IN_AN_ENVIRONMENT = regular(r"/(?:site|dist)-packages/|/lib/python\d|\.pth$|/pyvenv\.cfg$|\{\{")


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.steps:
        kinds = list(dict.fromkeys(it.kind for it in step.postconditions))
        if (proposed := _missing(step, frozenset(kinds))) is not None:
            stated = ", ".join(f"`{kind}`" for kind in kinds)
            summary = f"{stated} says nothing of what `{step.kind}` changes, so the step is done before it has begun"
            remedy = f"state one of {', '.join(sorted(proposed))}"
            yield Finding(summary, step.postconditions[0].at, remedy, step.id)


def _missing(step: Looked, kinds: frozenset[str]) -> frozenset[str] | None:
    """Return the conditions that would tell a step's work; None where one of `kinds` may do so."""
    if step.kind in _WRITING:
        path = step.arguments.values.get("path")
        beyond = _BEYOND_A_FILE[step.kind]
        if not isinstance(path, str) or _IN_AN_ENVIRONMENT.search(path):
            beyond -= _ENVIRONMENT
        return frozenset(_WRITING[step.kind]) if kinds <= beyond else None
    about = _ABOUT.get(step.kind)
    if about is None or kinds & (about.proposed | about.admitted | _ANY):
        return None
    return about.proposed


RULE = warning(
    "SP131",
    "postconditions that say nothing of what the step changes",
    "A step is done when its postconditions hold. Where they speak of something else, a node on which that is in "
    "order skips the step, and one on which it is not fails though the step did its work. Each kind of action has "
    "conditions that look at what it changes; `command`, `python`, `file`, `http` and `port` may look at anything.",
    check,
)
