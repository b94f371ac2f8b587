"""A backend that each node chooses for itself."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Subject

_REMEDY = "name the build: `torch_backend: cu130`, or `index_url` with the index of that build"
_WHY = "which build comes depends on what the installer detects on each node, and it falls back to cpu"


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.steps:
        if step.installs and step.arguments.values.get("torch_backend") == "auto":
            yield Finding(f"`torch_backend: auto`: {_WHY}", step.place("torch_backend"), _REMEDY, step.id)
        for it in step.settings:
            if it.name == "UV_TORCH_BACKEND" and it.value == "auto":
                yield Finding(f"UV_TORCH_BACKEND is auto: {_WHY}", it.at, _REMEDY, step.id)
        for command in step.commands:
            if "--torch-backend=auto" in command.words or "--torch-backend auto" in command.text:
                yield Finding(f"`--torch-backend=auto`: {_WHY}", step.command_at(command), _REMEDY, step.id)


RULE = warning(
    "SP106",
    "an automatic torch backend in a fleet",
    "The same command with `auto` gave +cu128 with uv 0.8.12 and the cpu build with 0.8.13 on one machine, both with "
    "exit status 0; and where the step's shell does not find nvidia-smi, it falls back to cpu. A playbook is to bring "
    "every node to one state, so it names the build.",
    check,
    by_step=True,
)
