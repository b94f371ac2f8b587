"""A CUDA runfile that is not told to install the toolkit alone."""

import re
from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._shell import Command
from stackplan.language.lint._subject import Subject

_RUNFILE = re.compile(r"(?:^|/)cuda_[^/\s]*\.run$")


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        for it in step.commands:
            runs = _runs_runfile(it)
            if runs and not it.has("--toolkit", "--extract", "--help", "--check", "--info", "--list"):
                summary = (
                    "without `--toolkit` the runfile installs its driver as well, or aborts because GPUs are in use"
                )
                remedy = "use the action `cuda_toolkit`, or add `--toolkit`"
                yield Finding(summary, step.command_at(it), remedy, step.id)


def _runs_runfile(it: Command) -> bool:
    if not it.words:
        return False
    if _RUNFILE.search(it.words[0]):
        return True
    shell = it.program in ("sh", "bash")
    return shell and any(_RUNFILE.search(word) for word in it.words[1:2])


RULE = error(
    "SP171",
    "a CUDA runfile that installs a driver",
    "With `--silent` and neither `--toolkit` nor `--driver`, the runfile installs both. The driver part finds the "
    "module loaded, answers its own question with `Abort installation`, and nothing is installed; on an idle node it "
    "replaces the driver. `cuda_toolkit` never touches a driver.",
    check,
)
