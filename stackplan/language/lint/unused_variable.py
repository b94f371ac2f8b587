"""A variable that nothing uses."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Subject
from stackplan.language.nearest import did_you_mean
from stackplan.language.variables import used_names


def check(subject: Subject) -> Iterator[Finding]:
    playbook = subject.written
    # A template file of the project may use any of them.
    if any("template" in it.arguments for it in subject.steps if it.kind == "file"):
        return
    used = used_names(playbook)
    own = playbook.path
    for name, variable in playbook.variables.items():
        if name not in used and variable.at.path == own:
            strangers = sorted(used - playbook.variables.keys())
            remedy = did_you_mean(name, strangers) or "take it out"
            yield Finding(f"nothing uses the variable `{name}`, so changing it changes nothing", variable.at, remedy)


RULE = warning(
    "SP142",
    "a variable that nothing uses",
    "Whoever changes a version in `vars` expects that it is installed. A variable that no template names looks like "
    "a setting and is none; often its name is misspelt where it was meant to be used. Silent when a step has a "
    "template file, which may use any variable.",
    check,
)
