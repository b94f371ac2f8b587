"""A driver without the open kernel modules on a GPU that needs them."""

import re
from collections.abc import Iterator, Mapping

from stackplan.language.lint._apt import asked_of_apt
from stackplan.language.lint._apt_name import bare
from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._shell import Command
from stackplan.language.lint._simulation import spares_node
from stackplan.language.lint._subject import Subject
from stackplan.model.regular import regular

_CLOSED = regular(r"(nvidia-(?:driver|dkms|kernel-source|headless|headless-no-dkms)-\d{3})(-server)?")
_OF_NVIDIA = regular(r"cuda-drivers(?P<branch>-\d{3})?")
"""The meta-package of NVIDIA's own repository, whose kernel module is the closed one; `nvidia-open` has the other."""
_STREAM = regular(r"@?nvidia-driver:(?!.*open)[\w.-]+|kmod-nvidia-latest-dkms")
_RUNFILE = regular(r"NVIDIA-Linux-[^/]*\.run$")
_CLOSED_TYPE = regular(r"(?:-m|--kernel-module-type)[= ](?:kernel|proprietary)(?![\w-])")
_RPM = frozenset({"dnf", "dnf5", "yum"})
_OPEN_ONLY = 10


def check(subject: Subject) -> Iterator[Finding]:
    if not _blackwell(subject):
        return
    for step in subject.steps:
        for name, at in asked_of_apt(step):
            package, (_, equals, version) = bare(name), name.partition("=")
            if match := _CLOSED.fullmatch(package):
                summary = f"`{package}` has the closed kernel module, which drives no Blackwell GPU"
                remedy = f"write `{match[1]}{match[2] or ''}-open{equals}{version}`"
                yield Finding(summary, at, remedy, step.id)
            elif match := _OF_NVIDIA.fullmatch(package):
                summary = f"`{package}` brings the closed kernel module, which drives no Blackwell GPU"
                remedy = f"write `nvidia-open{match['branch'] or ''}{equals}{version}`"
                yield Finding(summary, at, remedy, step.id)
        for it in step.commands if step.mentions("nvidia", "NVIDIA") else ():
            if (said := _closed_by_command(it)) is not None:
                summary = f"`{said}` has the closed kernel module, which drives no Blackwell GPU"
                yield Finding(summary, step.command_at(it), "choose the open one", step.id)


def _closed_by_command(it: Command) -> str | None:
    """Return what has another installer than apt take the closed module; None of anything else."""
    if it.program in _RPM and "install" in it.plain[:2] and not spares_node(it):
        return next((word for word in it.plain if _STREAM.fullmatch(word)), None)
    if any(_RUNFILE.search(word) for word in it.words[:2]) and (match := _CLOSED_TYPE.search(it.text)):
        return match[0]
    return None


def _blackwell(subject: Subject) -> bool:
    """Return whether the playbook says that it is for GPUs of compute capability 10 or higher."""
    for it, _, _ in subject.conditions:
        value = it.arguments.values.get("compute_capability") if it.kind == "gpu" else None
        text = next(iter(value.values()), None) if isinstance(value, Mapping) else value
        match = re.match(r"\D*(\d+)", text) if isinstance(text, str) else None
        if match and not it.negated and int(match[1]) >= _OPEN_ONLY:
            return True
    return False


RULE = error(
    "SP151",
    "a closed kernel module for Blackwell",
    "GPUs of compute capability 10 and higher work with the open kernel modules alone. A driver package without "
    "`-open` installs cleanly, and nvidia-smi says `No devices were found`. The rule speaks where a `gpu` condition "
    "of the playbook names such a capability.",
    check,
)
