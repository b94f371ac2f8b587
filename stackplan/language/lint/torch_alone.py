"""torch moved without torchvision and torchaudio."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Subject
from stackplan.language.lint._wanted import TORCH_FAMILY

_COMPANIONS = TORCH_FAMILY - {"torch"}


def check(subject: Subject) -> Iterator[Finding]:
    named = {name for step in subject.installing for name in step.names | step.removed}
    if named & _COMPANIONS or "same_build" in subject.condition_kinds or _stated(subject):
        return
    for step in subject.installing:
        if step.indexes and "create" not in step.arguments:
            for it in step.wanted:
                if it.name == "torch":
                    summary = "torch moves alone: torchvision and torchaudio stay built for the torch that is replaced"
                    remedy = "list torchvision and torchaudio beside it, or state `package: {name: …, absent: true}`"
                    yield Finding(summary, it.at, remedy, step.id)


def _stated(subject: Subject) -> bool:
    return any(it.kind == "package" and it.text("name") in _COMPANIONS for it, _, _ in subject.conditions)


RULE = warning(
    "SP104",
    "torch is moved without its companions",
    "torchvision and torchaudio are compiled for one build of torch. Upgrading torch alone leaves them on the old "
    "label, `uv pip check` is content because `torch==2.10.0` also matches 2.10.0+cu130, and the first use ends with "
    "`operator torchvision::nms does not exist`. Install the three together; where they are not installed, say so "
    "with `package: {name: torchvision, absent: true}`. Silent when `same_build` is stated.",
    check,
)
