"""`no_deps` and nothing that looks at the dependencies afterwards."""

from collections.abc import Iterator

from stackplan.language.lint._installers import verb
from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Statement, Subject

_CHECKING = frozenset({"packages_consistent", "python_import", "cuda_coherent", "kernel_launch", "python", "http"})

_COMPLETE = ("-r", "--requirement", "--requirements", "--require-hashes")
"""With a file of requirements `--no-deps` is how a complete list is installed."""


def check(subject: Subject) -> Iterator[Finding]:
    checking = [it.number for it in subject.steps if any(map(_looks, it.postconditions))]
    last = max(checking, default=-1)
    for step in subject.installing:
        if step.arguments.values.get("no_deps") is True and last < step.number:
            summary = (
                "`no_deps` leaves out what the package needs, and no later postcondition looks whether it is there"
            )
            remedy = "state `packages_consistent`, or `python_import` of the package"
            yield Finding(summary, step.place("no_deps"), remedy, step.id)
    for step in subject.running:
        for it in step.commands if step.mentions("--no-deps") else ():
            if last < step.number and it.has("--no-deps") and not it.has(*_COMPLETE) and verb(it) == "install":
                summary = "`--no-deps` leaves out what the package needs, and no later postcondition looks for it"
                remedy = "state `packages_consistent`, or `python_import` of the package"
                yield Finding(summary, step.command_at(it), remedy, step.id)


def _looks(it: Statement) -> bool:
    return it.kind in _CHECKING or (it.kind == "command" and "import" in str(it.arguments.values))


RULE = warning(
    "SP116",
    "`no_deps` without a look at the dependencies",
    "`no_deps: true` is right for an override that may bring nothing along. Then no installer says that a requirement "
    "is missing or has the wrong version; the application finds out. `packages_consistent` computes it, "
    "`python_import` tries it.",
    check,
)
