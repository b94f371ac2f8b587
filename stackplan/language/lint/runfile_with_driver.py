"""A CUDA runfile that is not told to install the toolkit alone."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._shell import Command
from stackplan.language.lint._subject import Subject
from stackplan.model.regular import regular

_RUNFILE = regular(r"(?:^|/)cuda(?:[_*-][^/\s]*)?\.run$|(?:^|/)cuda-installer$")
_HARMLESS = frozenset({"extract", "help", "check", "info", "list", "noexec", "uninstall", "version", "tar"})
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh"})


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        for it in step.commands:
            given = _options(it) if _runs_runfile(it) else {"toolkit"}
            if given & _HARMLESS or ("toolkit" in given and "driver" not in given):
                continue
            summary = "without `--toolkit` the runfile installs its driver as well, or aborts because GPUs are in use"
            remedy = "use the action `cuda_toolkit`, or add `--toolkit`"
            if "driver" in given:
                summary = "`--driver` has the runfile replace the driver, or abort because GPUs are in use"
                remedy = "use the action `cuda_toolkit`, or give `--toolkit` in the place of `--driver`"
            yield Finding(summary, step.command_at(it), remedy, step.id)


def _runs_runfile(it: Command) -> bool:
    if not it.words:
        return False
    runs = it.plain[:1] if it.program in _SHELLS else it.words[:1]
    return any(_RUNFILE.search(word) for word in runs)


def _options(it: Command) -> set[str]:
    """Return the options by name: the runfile takes `-driver` and `--driver` alike."""
    return {word.lstrip("-").partition("=")[0] for word in it.words[1:] if word.startswith("-")}


RULE = error(
    "SP171",
    "a CUDA runfile that installs a driver",
    "With `--silent` and neither `--toolkit` nor `--driver`, the runfile installs both. The driver part finds the "
    "module loaded, answers its own question with `Abort installation`, and nothing is installed; on an idle node it "
    "replaces the driver. `cuda_toolkit` never touches a driver.",
    check,
    by_step=True,
)
