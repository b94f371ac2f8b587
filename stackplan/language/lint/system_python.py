"""Packages put into the system's Python."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._subject import Subject

_OPTIONS = ("--break-system-packages", "--system")


def check(subject: Subject) -> Iterator[Finding]:
    remedy = "install into an environment: `python_packages: {venv: …, create: {}}`"
    for step in subject.steps:
        for it in step.commands:
            found = next((option for option in _OPTIONS if option in it.words), None)
            if found is not None and ("pip" in it.text or it.program == "uv"):
                summary = f"`{found}` mixes files of pip with those of apt, and the next apt upgrade breaks both"
                yield Finding(summary, step.command_at(it), remedy, step.id)
        for name, _, at in step.environment:
            if name in ("PIP_BREAK_SYSTEM_PACKAGES", "UV_SYSTEM_PYTHON", "UV_BREAK_SYSTEM_PACKAGES"):
                yield Finding(f"{name} has the installer write into the system's Python", at, remedy, step.id)


RULE = error(
    "SP165",
    "packages in the system's Python",
    "`error: externally-managed-environment` is answered with `--break-system-packages` or `--system` in many guides. "
    "pip's files then stand among apt's, and each tool overwrites the other's.",
    check,
)
