"""apt upgrade and its like: everything changes, also what the steps are about."""

from collections.abc import Iterator

from stackplan.language.lint._apt import simulates, verb
from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._subject import Subject

_ALL = frozenset({"upgrade", "dist-upgrade", "full-upgrade", "autoremove", "safe-upgrade"})
_OF_THEMSELVES = frozenset({"unattended-upgrade", "unattended-upgrades", "do-release-upgrade"})


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        for it in step.commands:
            done = verb(it)
            if done in _ALL or (it.program in _OF_THEMSELVES and not it.elsewhere and not simulates(it)):
                what = f"{it.program} {done}" if done else it.program
                summary = f"`{what}` changes whatever it likes, the driver and the kernel included"
                yield Finding(summary, step.command_at(it), "name the packages in a step `apt_packages`", step.id)


RULE = error(
    "SP167",
    "an upgrade of the whole system in a script",
    "`apt upgrade` replaces the user-space part of the driver under the loaded module, `autoremove` takes away the "
    "modules of the running kernel, and a new kernel has no NVIDIA module before it is built. What a playbook changes "
    "has to be named in it. Simulations and images (`chroot`) are not meant.",
    check,
)
