"""A driver that the node's own nightly upgrade may replace."""

from collections.abc import Iterator

from stackplan.language.lint._apt_name import bare
from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Subject
from stackplan.language.lint._wanted import texts
from stackplan.model.regular import regular

_DRIVER = regular(r"(?:nvidia-(?:driver|open|dkms|headless|fabricmanager)[\w.-]*|cuda-drivers[\w.-]*)")


def check(subject: Subject) -> Iterator[Finding]:
    held = {text for step in subject.steps if step.kind == "apt_packages" for _, text in texts(step.arguments, "hold")}
    for it, _, _ in subject.conditions:
        if it.kind == "apt_package" and it.arguments.values.get("held") is True:
            held.add(it.text("name") or "")
    if any(it.kind == "service" and it.arguments.values.get("name") == "unattended-upgrades" for it in subject.steps):
        return
    for step in subject.steps:
        if step.kind != "apt_packages":
            continue
        for at, text in texts(step.arguments, "install"):
            name = bare(text)
            if _DRIVER.fullmatch(name) and name not in held:
                summary = f"unattended upgrades replace `{name}` under the running kernel module some night"
                yield Finding(summary, at, f"put it on hold: `hold: [{name}]`", step.id)


RULE = warning(
    "SP153",
    "a driver that is not on hold",
    "unattended-upgrades replaced the user-space libraries while the old kernel module stayed loaded: `Failed to "
    "initialize NVML: Driver/library version mismatch`, 269 restarts of a device plugin. Hold what belongs to the "
    "driver (`hold`), or stop the service unattended-upgrades in a step.",
    check,
)
