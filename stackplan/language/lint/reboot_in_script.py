"""A reboot out of a script."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._shell import Command
from stackplan.language.lint._subject import Subject

_PROGRAMS = frozenset({"reboot", "poweroff", "halt"})
_VERBS = frozenset({"reboot", "poweroff", "halt", "kexec", "soft-reboot"})
_TARGETS = frozenset(f"{it}.target" for it in (*_VERBS, "runlevel0", "runlevel6", "ctrl-alt-del"))
_BY_VERB = {
    "scontrol": frozenset({"reboot", "reboot_nodes"}),
    "transactional-update": frozenset({"reboot"}),
    **dict.fromkeys(("dnf", "dnf5", "yum"), frozenset({"reboot"})),
}
"""Programs for something else, with their verbs that end the boot; of dnf behind `offline` or `system-upgrade`."""
_BY_OPTION = {"rpm-ostree": ("-r", "--reboot"), "bootc": ("--apply",)}
_SYSRQ = "/proc/sysrq-trigger"
_OF_RACADM = frozenset({"powercycle", "hardreset", "powerdown", "graceshutdown"})
_ASKING = ("--help", "--version", "-w", "--wtmp-only")


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        for it in step.commands:
            # Of another machine, or of a container, the script goes on.
            if not it.remote and not it.elsewhere and _reboots(it):
                summary = "the script ends with the node, so nobody learns how it ended, nor whether the node came back"
                remedy = "write it as a step `reboot`, which waits and proves that the boot id changed"
                yield Finding(summary, step.command_at(it), remedy, step.id)


def _reboots(it: Command) -> bool:
    words = frozenset(it.words[1:])
    by_kernel = any(sign.endswith(">") and target == _SYSRQ for sign, target in it.redirections)
    if by_kernel or (it.program == "tee" and _SYSRQ in words):
        return True
    if it.program in _PROGRAMS:
        return not it.has(*_ASKING)
    if it.program in ("systemctl", "loginctl"):
        return _by_manager(it)
    if it.program in _BY_VERB or it.program in _BY_OPTION:
        verbs, options = _BY_VERB.get(it.program, frozenset()), _BY_OPTION.get(it.program, ())
        return not verbs.isdisjoint(it.plain[:2]) or it.has(*options)
    if it.program in ("busctl", "dbus-send", "gdbus"):
        return any(word.rpartition(".")[2] in ("Reboot", "PowerOff", "Halt", "KExec") for word in words)
    return (
        (it.program == "shutdown" and not {"-c", "-k", "--show", "--help"} & words)
        or (it.program in ("init", "telinit") and bool({"0", "6"} & words))
        or (it.program == "kexec" and it.has_flag("e", "--exec"))
        or (it.program == "racadm" and "serveraction" in words and bool(_OF_RACADM & words) and not it.has("-r"))
        or (it.program == "rtcwake" and "off" in words)
        or (it.program == "ipmitool" and "power" in words and bool({"cycle", "reset", "off", "soft"} & words))
    )


def _by_manager(it: Command) -> bool:
    verb = next(iter(it.plain), "")
    started = verb in ("start", "isolate") and bool(_TARGETS & set(it.plain))
    return started or (verb in _VERBS and "--when=cancel" not in it.words)


RULE = error(
    "SP174",
    "a reboot in a script",
    "`reboot` returns at once, the connection ends some time later, and the exit status of what stands behind it is "
    "lost. The next step may run before the node goes down. The action `reboot` waits, with a bound, and compares "
    "the boot id.",
    check,
    by_step=True,
)
