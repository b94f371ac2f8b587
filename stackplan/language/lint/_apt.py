"""The Debian packages that a step asks for, by its arguments or by a command of its script."""

from collections.abc import Iterator

from stackplan.language.lint._shell import Command
from stackplan.language.lint._subject import Looked
from stackplan.language.lint._wanted import texts
from stackplan.model.location import Location

PROGRAMS = frozenset({"apt", "apt-get", "aptitude"})


def verb(command: Command) -> str | None:
    """Return what apt is told to do: install, upgrade, …; None of another program."""
    if command.program not in PROGRAMS:
        return None
    words = iter(command.words[1:])
    for word in words:
        if word in ("-o", "-t", "-c"):
            next(words, None)
        elif not word.startswith("-"):
            return word
    return None


def asked_of_apt(step: Looked) -> Iterator[tuple[str, Location]]:
    """Yield the packages that a step has apt install, each with its place."""
    if step.kind == "apt_packages":
        yield from ((text, at) for at, text in texts(step.arguments, "install"))
    elif step.kind == "cuda_toolkit":
        yield from ((text, at) for at, text in texts(step.arguments, "packages"))
    for command in step.commands:
        if verb(command) == "install":
            at = step.command_at(command)
            words = command.words[command.words.index("install") + 1 :]
            yield from ((word, at) for word in words if not word.startswith("-"))
