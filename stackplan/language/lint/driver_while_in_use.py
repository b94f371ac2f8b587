"""A driver replaced, or a node rebooted, while jobs run on its GPUs."""

import re
from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Looked, Statement, Subject
from stackplan.language.lint._wanted import texts

_DRIVER = re.compile(r"(?:nvidia-(?:driver|open|dkms|kernel|headless)|cuda-drivers|libnvidia-compute)")


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.steps:
        if not (step.kind == "reboot" or _replaces_driver(step)):
            continue
        if not _emptied(subject, step):
            what = "reboots the node" if step.kind == "reboot" else "replaces the driver"
            summary = f"this {what}, and nothing before it makes sure that no job runs there"
            remedy = "drain the node in a step before, or add the precondition `gpu: {processes: none}`"
            yield Finding(summary, step.step.action.at, remedy, step.id)
        return


def _replaces_driver(step: Looked) -> bool:
    if step.kind != "apt_packages":
        return False
    named = [text for field in ("install", "remove") for _, text in texts(step.arguments, field)]
    return any(_DRIVER.match(text) for text in named)


def _emptied(subject: Subject, step: Looked) -> bool:
    stated: list[Statement] = [*subject.preconditions, *step.preconditions]
    for it in subject.steps[: step.number]:
        if it.kind in ("slurm_node", "kubernetes_node") and it.arguments.values.get("state") == "drain":
            return True
        stated += [*it.preconditions, *it.postconditions]
    return any(_says_empty(it) for it in stated)


def _says_empty(it: Statement) -> bool:
    if it.kind == "command":
        return re.search(r"fuser|lsof|compute-apps", str(it.arguments.values)) is not None
    if it.kind in ("slurm_node", "kubernetes_node"):
        return it.text("state") in ("drained", "undisturbed")
    return it.kind == "gpu" and it.text("processes") == "none"


RULE = warning(
    "SP144",
    "a driver change or a reboot without a drain",
    "A driver cannot be unloaded while a process holds /dev/nvidia*, and its user-space part is replaced under running "
    "jobs: `Driver/library version mismatch` for every new one, weeks of `upgrade required`, or a reboot that kills "
    "the jobs. Drain with `slurm_node` or `kubernetes_node`, or state `gpu: {processes: none}` as a precondition.",
    check,
)
