"""Packages put into the system's Python."""

from collections.abc import Iterator

from stackplan.language.lint._installers import verb
from stackplan.language.lint._removal import removed
from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._shell import Command
from stackplan.language.lint._subject import Looked, Subject
from stackplan.language.lint._tree import pipelines
from stackplan.model.regular import regular

_OPTIONS = ("--break-system-packages", "--system")
_VARIABLES = ("PIP_BREAK_SYSTEM_PACKAGES", "UV_SYSTEM_PYTHON", "UV_BREAK_SYSTEM_PACKAGES")
_SYSTEM_PYTHON = regular(r"/usr/bin/(?:python|pip)[\d.]*")
_SYSTEM_FOLDER = regular(r"/usr(?:/lib/python[\d.]*(?:/.*)?|/local)?/?")
_NAMING = ("-p", "--python", "-t", "--target", "--prefix")
_REMEDY = "install into an environment: `python_packages: {venv: …, create: {}}`"


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.steps:
        for it in step.commands:
            if (found := _into_system(it)) is not None:
                summary = f"`{found}` mixes files of pip with those of apt, and the next apt upgrade breaks both"
                yield Finding(summary, step.command_at(it), _REMEDY, step.id)
        for it in _unmarked(step):
            summary = (
                "EXTERNALLY-MANAGED is what keeps pip from the files of apt; without it both overwrite the other's"
            )
            yield Finding(summary, step.command_at(it), _REMEDY, step.id)
        for setting in step.settings:
            if setting.name in _VARIABLES and str(setting.value) not in ("", "0", "false"):
                summary = f"{setting.name} has the installer write into the system's Python"
                yield Finding(summary, setting.at, _REMEDY, step.id)


def _into_system(it: Command) -> str | None:
    """Return the word by which an installer writes into the system's Python, if one does."""
    if it.program.startswith("pip") and "config" in it.words and any("break-system-packages" in w for w in it.words):
        return "pip config … break-system-packages"
    if verb(it) is None:
        return None
    if (option := next((option for option in _OPTIONS if it.has(option)), None)) is not None:
        return option
    if _SYSTEM_PYTHON.fullmatch(it.words[0]):
        return it.words[0]
    for word, following in zip(it.words, (*it.words[1:], ""), strict=False):
        name, equals, value = word.partition("=")
        told = value if equals else following
        if name in _NAMING and (_SYSTEM_PYTHON.fullmatch(told) or _SYSTEM_FOLDER.fullmatch(told)):
            return f"{name} {told}"
    return None


def _unmarked(step: Looked) -> Iterator[Command]:
    """Yield what takes away the mark by which a distribution keeps pip out."""
    if step.script is not None and "EXTERNALLY-MANAGED" in step.script.text:
        for pipeline in pipelines(step.script.block):
            yield from (it for it, path in removed(pipeline) if path.endswith("/EXTERNALLY-MANAGED"))


RULE = error(
    "SP165",
    "packages in the system's Python",
    "`error: externally-managed-environment` is answered with `--break-system-packages` or `--system` in many guides, "
    "or with the system's interpreter by its path. pip's files then stand among apt's, and each tool overwrites the "
    "other's.",
    check,
    by_step=True,
)
