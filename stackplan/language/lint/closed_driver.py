"""A driver without the open kernel modules on a GPU that needs them."""

import re
from collections.abc import Iterator, Mapping

from stackplan.language.lint._apt import asked_of_apt
from stackplan.language.lint._apt_name import bare
from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._subject import Subject

_CLOSED = re.compile(r"(nvidia-(?:driver|dkms|kernel-source|headless|headless-no-dkms)-\d{3})(-server)?")
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
