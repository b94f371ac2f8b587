"""The `cuda` meta-package where a toolkit is meant."""

import re
from collections.abc import Iterator

from stackplan.language.lint._apt import asked_of_apt
from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._subject import Subject

_META = re.compile(r"cuda(?:-\d+-\d+)?|cuda-(?:runtime|demo-suite)-\d+-\d+")


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.steps:
        for name, at in asked_of_apt(step):
            if _META.fullmatch(name.partition("=")[0]):
                summary = f"the package `{name}` brings a driver along and takes the installed one away"
                remedy = "name the toolkit alone: `cuda-toolkit-13-0`, or use the action `cuda_toolkit`"
                yield Finding(summary, at, remedy, step.id)


RULE = error(
    "SP150",
    "the `cuda` meta-package",
    "`apt install cuda` (or cuda-13-0, cuda-runtime-13-0) depends on NVIDIA's driver packages: the distribution's "
    "driver is removed and another one installed, under whatever runs. `cuda-toolkit-13-0` has no driver among its "
    "dependencies.",
    check,
)
