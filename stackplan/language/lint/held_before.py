"""A version is installed, and the postconditions ask for the name alone."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Looked, Subject
from stackplan.language.lint._wanted import Wanted


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.installing:
        if step.step.always or "create" in step.arguments:
            continue
        aimed = [it for it in step.wanted if it.pin is not None or step.upgrades(it.name)]
        if aimed and step.postconditions and all(_name_alone(step, it) for it in range(len(step.postconditions))):
            summary = f"the postcondition holds with any {aimed[0].name} that is installed: {_instead(aimed[0])}"
            remedy = f"state its version: `package: {{name: {aimed[0].name}, version: …}}`"
            yield Finding(summary, step.postconditions[0].at, remedy, step.id)


def _name_alone(step: Looked, number: int) -> bool:
    it = step.postconditions[number]
    if it.kind == "python_import":
        return True
    stated = {"version", "local", "absent"} & it.arguments.values.keys()
    return it.kind == "package" and not stated


def _instead(it: Wanted) -> str:
    return "the step is skipped where an old one is" if it.pin is None else f"`{it.text}` is not installed over another"


RULE = warning(
    "SP132",
    "a version is to be installed, and any version satisfies the postconditions",
    "A step whose postconditions hold already is satisfied and does not run. `package: {name: sglang}` holds with "
    "every sglang, so a node with an old one keeps it, and the run is green. State the version, the label or the "
    "CUDA release that the step is there for.",
    check,
)
