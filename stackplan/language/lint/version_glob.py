"""A glob that reaches into another driver release."""

from collections.abc import Iterator

from stackplan.language.lint._apt import asked_of_apt
from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Looked, Subject
from stackplan.model.location import Location
from stackplan.model.regular import regular

_LOOSE = regular(
    r"(?P<name>(?:lib)?nvidia[\w.+-]*|cuda[\w.+-]*|libnccl[\w.+-]*|libcudnn[\w.+-]*)(?::\w+)?=(?P<part>[\d.]*)\*"
)


_COMPANION = regular(r"nvidia-fabricmanager(?:-\d+)?|libnvidia-nscq-\d+|nvidia-imex(?:-\d+)?|libnvidia-nvsdm-\d+")
_DRIVER = regular(r"(?:nvidia-(?:driver|open|dkms|headless)|cuda-drivers)[\w.-]*")
_OF_BRANCH = regular(r"nvidia-(?:driver|open|headless)-\d{3}[\w-]*")
"""Drivers whose name says the branch; of the others another rule speaks."""


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.steps:
        asked = list(asked_of_apt(step))
        for text, at in asked:
            match = _LOOSE.fullmatch(text)
            if match and match["part"].count(".") < 2:
                summary = f"`{text}` takes whichever release is newest on that day, not the one of the other packages"
                remedy = f"name the release: `{match['name']}=580.126.09-*`"
                yield Finding(summary, at, remedy, step.id)
            elif _COMPANION.fullmatch(text) and not _beside_driver(asked) and not _proven(subject, step, text):
                summary = f"`{text}` without a version is of whichever release is newest, not of the driver's"
                yield Finding(summary, at, f"name the driver's release: `{text}=580.126.09-*`", step.id)
            elif _OF_BRANCH.fullmatch(text) and not (_proven(subject, step, text) or _driver_proven(subject, step)):
                summary = f"`{text}` without a version is of whichever release is newest on that day"
                remedy = f"name the release, `{text}=580.126.09-*`, or state `driver_coherent: {{version: …}}`"
                yield Finding(summary, at, remedy, step.id)


def _driver_proven(subject: Subject, step: Looked) -> bool:
    """Return whether a condition from here on states the driver's version, or a step looks at it in its own words."""
    later = [it for other in subject.steps[step.number :] for it in (*other.preconditions, *other.postconditions)]
    return any(it.kind == "command" or (it.kind == "gpu" and "driver" in it.arguments) for it in later)


def _beside_driver(asked: list[tuple[str, Location]]) -> bool:
    """Return whether a driver without a version comes along: both are then of the newest release."""
    return any(_DRIVER.fullmatch(text) for text, _ in asked)


def _proven(subject: Subject, step: Looked, name: str) -> bool:
    """Return whether a postcondition from here on tells when the releases differ."""
    for it in (it for later in subject.steps[step.number :] for it in later.postconditions):
        stated = it.kind == "apt_package" and it.text("name") == name and "version" in it.arguments
        if it.kind == "driver_coherent" or (stated and not it.negated):
            return True
    return False


RULE = warning(
    "SP152",
    "a version glob that spans releases",
    "Driver, fabric manager and libraries have to be of one release. `nvidia-fabricmanager=580*`, or no version at "
    "all, picked another one than the driver's; nvidia-smi looks normal and CUDA ends with error 802. A glob for the "
    "packaging revision alone (`580.126.09-*`) is fine. A driver without a version is found where no condition from "
    "there on states which release came.",
    check,
)
