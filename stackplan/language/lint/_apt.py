"""The Debian packages that a step asks for, by its arguments or by a command of its script."""

import re
from collections.abc import Iterator

from stackplan.language.lint._shell import Command
from stackplan.language.lint._subject import Looked
from stackplan.language.lint._wanted import texts
from stackplan.model.location import Location

PROGRAMS = frozenset({"apt", "apt-get", "aptitude", "nala"})
_VALUES = re.compile(r"-[a-zA-Z]*[otc]|--option|--target-release|--default-release|--config-file|--host-architecture")
_ONLY_LOOKING = re.compile(r"-[a-zA-Z]*[sd][a-zA-Z]*")
_ONLY_LOOKING_LONG = (
    "--simulate",
    "--dry-run",
    "--just-print",
    "--recon",
    "--no-act",
    "--download-only",
    "--print-uris",
)


def verb(command: Command) -> str | None:
    """Return what apt is told to do: install, upgrade, …; None of another program, or when it is only to look."""
    if command.program not in PROGRAMS or simulates(command):
        return None
    return next(iter(_plain(command)), None)


def simulates(command: Command) -> bool:
    """Return whether apt is told to change nothing: a simulation, or a download for later."""
    if command.program not in PROGRAMS:
        return False
    return command.has(*_ONLY_LOOKING_LONG) or any(
        _ONLY_LOOKING.fullmatch(word) for word in command.words[1:] if not word.startswith(("-o", "-t", "-c"))
    )


def _plain(command: Command) -> Iterator[str]:
    """Yield the words of apt that are neither options nor their values."""
    words = iter(command.words[1:])
    for word in words:
        if not word.startswith("-"):
            yield word
        elif _VALUES.fullmatch(word):
            next(words, None)


def asked_of_apt(step: Looked) -> Iterator[tuple[str, Location]]:
    """Yield the packages that a step has apt install, each with its place."""
    if step.kind == "apt_packages":
        yield from ((text, at) for at, text in texts(step.arguments, "install"))
    elif step.kind == "cuda_toolkit":
        yield from ((text, at) for at, text in texts(step.arguments, "packages"))
    for command in step.commands:
        if verb(command) == "install":
            at = step.command_at(command)
            yield from ((word, at) for word in list(_plain(command))[1:])
