"""The Debian packages that a step asks for, by its arguments or by a command of its script."""

from collections.abc import Iterator

from stackplan.language.lint._shell import Command
from stackplan.language.lint._simulation import APT, simulates
from stackplan.language.lint._subject import Looked
from stackplan.language.lint._wanted import texts
from stackplan.model.location import Location
from stackplan.model.regular import regular

__all__ = ["asked_of_apt", "simulates", "verb"]

_VALUES = regular(r"-[a-zA-Z]*[otc]|--option|--target-release|--default-release|--config-file|--host-architecture")


def verb(command: Command) -> str | None:
    """Return what apt is told to do on the node: install, upgrade, …; None of another program, or of a simulation."""
    if command.program not in APT or command.elsewhere or simulates(command):
        return None
    return next(iter(command.operands(_VALUES)), None)


def asked_of_apt(step: Looked) -> Iterator[tuple[str, Location]]:
    """Yield the packages that a step has apt install, each with its place."""
    if step.kind == "apt_packages":
        yield from ((text, at) for at, text in texts(step.arguments, "install"))
    elif step.kind == "cuda_toolkit":
        yield from ((text, at) for at, text in texts(step.arguments, "packages"))
    for command in step.commands if step.mentions("install") else ():
        if verb(command) == "install":
            at = step.command_at(command)
            yield from ((word, at) for word in list(command.operands(_VALUES))[1:])
