"""torch moved without torchvision and torchaudio."""

from collections.abc import Iterator

from stackplan.language.lint._environment import environment_of, may_be_among
from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Looked, Statement, Subject
from stackplan.language.lint._wanted import TORCH_FAMILY

_COMPANIONS = TORCH_FAMILY - {"torch"}


def check(subject: Subject) -> Iterator[Finding]:
    if not any("torch" in step.names for step in subject.installing):
        return
    environments = {environment_of(step.arguments) for step in subject.installing}
    seen = {_place(it, environments) for it in _looking_at_companions(subject)}
    for step in subject.installing:
        moved = (step.indexes or step.own.backend is not None) and "create" not in step.arguments
        if moved and not may_be_among(environment_of(step.arguments), seen):
            for it in step.wanted:
                if it.name == "torch":
                    summary = "torch moves alone: torchvision and torchaudio stay built for the torch that is replaced"
                    remedy = "list torchvision and torchaudio beside it, or state `package: {name: …, absent: true}`"
                    yield Finding(summary, it.at, remedy, step.id)


def _looking_at_companions(subject: Subject) -> Iterator[Looked | Statement]:
    """Yield the steps that move the companions, and the conditions that state something of them."""
    yield from (step for step in subject.installing if (step.names | step.removed) & _COMPANIONS)
    for it, _, _ in subject.conditions:
        if it.kind == "same_build" or (it.kind == "package" and it.text("name") in _COMPANIONS):
            yield it


def _place(it: Looked | Statement, environments: set[str | None]) -> str | None:
    """Return the environment that something is about; None where it may be any of them.

    A condition may name one folder in another spelling than the steps do (`~/a`, `/home/ops/a`).
    """
    named = environment_of(it.arguments)
    return named if isinstance(it, Looked) or named in environments else None


RULE = warning(
    "SP104",
    "torch is moved without its companions",
    "torchvision and torchaudio are compiled for one build of torch. Upgrading torch alone leaves them on the old "
    "label, `uv pip check` is content because `torch==2.10.0` also matches 2.10.0+cu130, and the first use ends with "
    "`operator torchvision::nms does not exist`. Install the three together; where they are not installed, say so "
    "with `package: {name: torchvision, absent: true}`. Silent when `same_build` is stated. Each environment counts by "
    "itself: what is installed or stated in another one says nothing of this one.",
    check,
)
