"""A driver replaced, or a node rebooted, while jobs run on its GPUs."""

import re
from collections.abc import Iterator

from stackplan.language.lint._apt import verb
from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._shell import Command
from stackplan.language.lint._simulation import spares_node
from stackplan.language.lint._subject import Looked, Statement, Subject
from stackplan.language.lint._wanted import texts
from stackplan.model.location import Location
from stackplan.model.regular import regular

_DRIVER = regular(
    r"@?(?:nvidia-(?:driver|open|dkms|kernel|headless)|a?kmod-nvidia|dkms-nvidia|cuda-drivers|libnvidia-compute)"
)
_INSTALLERS = frozenset({"dnf", "dnf5", "yum", "microdnf", "tdnf", "zypper"})
_VERBS = frozenset({"install", "in", "reinstall", "upgrade", "update", "up", "remove", "erase", "rm", "swap"})
_APT_VERBS = frozenset({"install", "reinstall", "remove", "purge"})
_RUNFILE = regular(r"(?:^|/)NVIDIA-Linux-[^/]*\.run$|(?:^|/)nvidia-(?:installer|uninstall)$")
_HARMLESS = ("--extract-only", "-x", "--help", "-h", "-A", "--info", "-i", "--check", "--list", "--version", "-v")
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
_MODULES = frozenset({"nvidia", "nvidia_uvm"})
"""The modules that every job holds."""
_MARKS = ("nvidia", "NVIDIA", "cuda-drivers", "ubuntu-drivers")
"""One of them stands in every script that changes the driver."""
_EMPTYING = regular(
    r"\b(?:fuser|lsof|compute-apps|kubectl (?:\S+ )*?drain|(?:scontrol|sinfo|squeue)\b)|pmon|/proc/driver/nvidia"
)


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.steps:
        if (change := _change(step)) is None:
            continue
        what, at, command = change
        if not _emptied(subject, step, command):
            summary = f"this {what}, and nothing before it makes sure that no job runs there"
            remedy = "drain the node in a step before, or add the precondition `gpu: {processes: none}`"
            yield Finding(summary, at, remedy, step.id)
        return


def _change(step: Looked) -> tuple[str, Location, Command | None] | None:
    """Return what a step does to the driver or the node, with its place and, of a script, the command."""
    if step.kind == "reboot":
        return "reboots the node", step.step.action.at, None
    if step.kind == "apt_packages":
        named = [text for field in ("install", "remove") for _, text in texts(step.arguments, field)]
        return ("replaces the driver", step.step.action.at, None) if any(map(_DRIVER.match, named)) else None
    for it in step.commands if step.mentions(*_MARKS) else ():
        if what := _of_command(it):
            return what, step.command_at(it), it
    return None


def _of_command(it: Command) -> str | None:
    runs = it.plain[:1] if it.program in _SHELLS else it.words[:1]
    if any(_RUNFILE.search(word) for word in runs):
        return None if it.has(*_HARMLESS) else "replaces the driver"
    if it.program == "rmmod" or (it.program == "modprobe" and it.has_flag("r", "--remove")):
        return "unloads the driver" if _MODULES & {word.replace("-", "_") for word in it.plain} else None
    if it.program == "nvidia-smi":
        # `nvidia-smi nvlink -r` only sets counters back, and so do the other words that stand before the options.
        return "resets a GPU" if it.words[1:2] != it.plain[:1] and {"-r", "--gpu-reset"} & set(it.words) else None
    if it.program == "ubuntu-drivers" and not it.elsewhere:
        return "replaces the driver" if {"install", "autoinstall"} & set(it.plain[:1]) else None
    return "replaces the driver" if _installs_driver(it) else None


def _installs_driver(it: Command) -> bool:
    """Return whether an installer of the system is told to put a driver in, or to take one out."""
    if it.program in _INSTALLERS:
        words = it.plain[1:] if it.plain[:1] == ("module",) else it.plain
        told = not spares_node(it) and bool(_VERBS & set(words[:1]))
    else:
        told = verb(it) in _APT_VERBS
    return told and any(map(_DRIVER.match, it.plain[1:]))


def _emptied(subject: Subject, step: Looked, command: Command | None) -> bool:
    stated: list[Statement] = [*subject.preconditions, *step.preconditions]
    for it in subject.steps[: step.number]:
        if it.kind in ("slurm_node", "kubernetes_node") and it.arguments.values.get("state") == "drain":
            return True
        stated += [*it.preconditions, *it.postconditions]
    asked = [command for it in subject.steps[: step.number] for command in it.commands]
    asked += [it for it in step.commands if command is not None and it.start < command.start]
    return any(_says_empty(it) for it in stated) or any(_EMPTYING.search(it.text) for it in asked)


def _says_empty(it: Statement) -> bool:
    if it.kind == "command":
        return re.search(r"fuser|lsof|compute-apps", str(it.arguments.values)) is not None
    if it.kind in ("slurm_node", "kubernetes_node"):
        return it.text("state") in ("drained", "undisturbed")
    if it.kind == "gpu" and not it.negated and not it.optional and it.arguments.values.get("count") == 0:
        # Without a GPU there is no job on one.
        return True
    return it.kind == "gpu" and it.text("processes") == "none"


RULE = warning(
    "SP144",
    "a driver change or a reboot without a drain",
    "A driver cannot be unloaded while a process holds /dev/nvidia*, and its user-space part is replaced under running "
    "jobs: `Driver/library version mismatch` for every new one, weeks of `upgrade required`, or a reboot that kills "
    "the jobs; a GPU that is reset takes its jobs along. Drain with `slurm_node` or `kubernetes_node`, or state "
    "`gpu: {processes: none}` as a precondition; `gpu: {count: 0}` says that there is no GPU to work on.",
    check,
)
