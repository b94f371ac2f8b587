"""A glob that reaches into another driver release."""

import re
from collections.abc import Iterator

from stackplan.language.lint._apt import asked_of_apt
from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Subject

_LOOSE = re.compile(
    r"(?P<name>(?:lib)?nvidia[\w.+-]*|cuda[\w.+-]*|libnccl[\w.+-]*|libcudnn[\w.+-]*)(?::\w+)?=(?P<part>[\d.]*)\*"
)


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.steps:
        for text, at in asked_of_apt(step):
            match = _LOOSE.fullmatch(text)
            if match and match["part"].count(".") < 2:
                summary = f"`{text}` takes whichever release is newest on that day, not the one of the other packages"
                remedy = f"name the release: `{match['name']}=580.126.09-*`"
                yield Finding(summary, at, remedy, step.id)


RULE = warning(
    "SP152",
    "a version glob that spans releases",
    "Driver, fabric manager and libraries have to be of one release. `nvidia-fabricmanager=580*`, or no version at "
    "all, picked another one than the driver's; nvidia-smi looks normal and CUDA ends with error 802. A glob for the "
    "packaging revision alone (`580.126.09-*`) is fine.",
    check,
)
