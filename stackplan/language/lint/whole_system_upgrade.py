"""apt upgrade and its like: everything changes, also what the steps are about."""

from collections.abc import Iterator

from stackplan.language.lint._apt import verb
from stackplan.language.lint._everything import names_everything, upgrades_everything
from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._shell import Command
from stackplan.language.lint._simulation import spares_node
from stackplan.language.lint._subject import Subject

_ALL = frozenset({"upgrade", "dist-upgrade", "full-upgrade", "dselect-upgrade", "autoremove", "safe-upgrade"})
_OF_THEMSELVES = frozenset({"unattended-upgrade", "unattended-upgrades", "do-release-upgrade"})


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        for it in step.commands:
            if (what := _upgrading(it)) is not None:
                summary = f"`{what}` changes whatever it likes, the driver and the kernel included"
                yield Finding(summary, step.command_at(it), "name the packages in a step `apt_packages`", step.id)


def _upgrading(it: Command) -> str | None:
    """Return the call, in two words, where it upgrades all that the node has; None of another command."""
    if spares_node(it):
        return None
    done = verb(it)
    if done in _ALL or (done == "install" and any(map(names_everything, it.plain))):
        return f"{it.program} {done}"
    return it.program if it.program in _OF_THEMSELVES else upgrades_everything(it)


RULE = error(
    "SP167",
    "an upgrade of the whole system in a script",
    "`apt upgrade` (`dnf upgrade`, `zypper dup`) replaces the user-space part of the driver under the loaded module, "
    "`autoremove` takes away the modules of the running kernel, and a new kernel has no NVIDIA module before it is "
    "built. What a playbook changes has to be named in it. Simulations and images (`chroot`) are not meant.",
    check,
    by_step=True,
)
