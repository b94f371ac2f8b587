"""The `cuda` meta-package where a toolkit is meant."""

from collections.abc import Iterator

from stackplan.language.lint._apt import asked_of_apt
from stackplan.language.lint._apt_name import bare
from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._simulation import spares_node
from stackplan.language.lint._subject import Looked, Subject
from stackplan.model.location import Location
from stackplan.model.regular import regular

_META = regular(r"cuda(?:-\d+){0,2}(?:-\*|\*)?|cuda-(?:runtime|demo-suite)-\d+-\d+")
_OTHERS = frozenset({"dnf", "yum", "microdnf", "tdnf", "zypper"})


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.steps:
        for name, at in (*asked_of_apt(step), *_asked_of_others(step)):
            if _META.fullmatch(bare(name)):
                summary = f"the package `{name}` brings a driver along and takes the installed one away"
                remedy = "name the toolkit alone: `cuda-toolkit-13-0`, or use the action `cuda_toolkit`"
                yield Finding(summary, at, remedy, step.id)


def _asked_of_others(step: Looked) -> Iterator[tuple[str, Location]]:
    """Yield the packages that a script has dnf or zypper install; their `cuda` is the same."""
    for it in step.commands if step.mentions(*_OTHERS) else ():
        if it.program not in _OTHERS or spares_node(it):
            continue
        if {"install", "in"} & set(it.plain[:1]):
            yield from ((word, step.command_at(it)) for word in it.plain[1:])


RULE = error(
    "SP150",
    "the `cuda` meta-package",
    "`apt install cuda` (or cuda-13-0, cuda-runtime-13-0) depends on NVIDIA's driver packages: the distribution's "
    "driver is removed and another one installed, under whatever runs. `cuda-toolkit-13-0` has no driver among its "
    "dependencies.",
    check,
    by_step=True,
)
