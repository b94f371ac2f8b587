"""A reboot out of a script."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._shell import Command
from stackplan.language.lint._subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        for it in step.commands:
            if _reboots(it):
                summary = "the script ends with the node, so nobody learns how it ended, nor whether the node came back"
                remedy = "write it as a step `reboot`, which waits and proves that the boot id changed"
                yield Finding(summary, step.command_at(it), remedy, step.id)


def _reboots(it: Command) -> bool:
    if it.program == "shutdown":
        return "-c" not in it.words
    return it.program in ("reboot", "poweroff", "halt") or (
        it.program == "systemctl" and any(word in ("reboot", "poweroff", "kexec") for word in it.words[1:])
    )


RULE = error(
    "SP174",
    "a reboot in a script",
    "`reboot` returns at once, the connection ends some time later, and the exit status of what stands behind it is "
    "lost. The next step may run before the node goes down. The action `reboot` waits, with a bound, and compares "
    "the boot id.",
    check,
)
