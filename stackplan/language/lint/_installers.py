"""Which commands install or remove packages of Python."""

import re

from stackplan.language.lint._shell import Command
from stackplan.language.lint._simulation import simulates
from stackplan.model.regular import regular

PIP = frozenset({"pip", "pip3"})
_VERBS = frozenset({"install", "uninstall", "sync"})
_QUESTIONS = frozenset({"check", "freeze", "list", "show"})
_VALUES = frozenset(
    {"--proxy", "--timeout", "--retries", "--cert", "--log", "--python", "--cache-dir", "--directory", "--project"}
)
"""Options that stand before the verb and take the next word."""
_PYTHON = regular(r"(?:python|pypy)[\d.]*")
_PROGRAM = regular(rf"pip[\d.]*|uv|conda|mamba|micromamba|{_PYTHON.pattern}")
_INITIALS = "pucm"
_MODULE = regular(r"-[A-Za-z]*m(?P<name>pip|uv)?")
_SYSTEM = ("apt", "apt-get", "aptitude", "nala", "dnf", "yum", "zypper")


def verb(command: Command) -> str | None:
    """Return what an installer of Python packages is told to do: install, uninstall, sync; None of anything else.

    What an option has only tell (`--dry-run`) is nothing that is done, nor is what is done to another root.
    """
    return None if command.elsewhere else _told(command)


def _told(command: Command) -> str | None:
    if command.program[:1] not in _INITIALS or _PROGRAM.fullmatch(command.program) is None:
        return None
    name, words = _named(command)
    if command.has("--dry-run", "--help") or name is None:
        return None
    if name == "uv" and words[:1] == ["pip"]:
        words = words[1:]
    elif name == "uv":
        return words[0] if words[:1] in (["sync"], ["add"], ["remove"]) else None
    elif name in ("conda", "mamba", "micromamba"):
        return words[0] if words[:1] in (["install"], ["update"], ["remove"]) else None
    elif name not in PIP and re.fullmatch(r"pip[23]\.\d+|pip2", name) is None:
        return None
    return words[0] if words and words[0] in _VERBS else None


def asked(command: Command) -> str | None:
    """Return what pip is asked of an environment: check, freeze, list, show; None of anything else."""
    if _PROGRAM.fullmatch(command.program) is None:
        return None
    name, words = _named(command)
    if name == "uv":
        words = words[1:] if words[:1] == ["pip"] else []
    elif name is None or not name.startswith("pip"):
        return None
    return words[0] if words and words[0] in _QUESTIONS else None


def _named(command: Command) -> tuple[str | None, list[str]]:
    """Return the program that is meant, behind `python -m`, and its words that are no options."""
    words = list(command.words)
    if _PYTHON.fullmatch(command.program):
        # `-Im pip` and `-mpip` are `-m pip` as well.
        words = [part for word in words[:6] for part in _modules(word)] + words[6:]
        at = words.index("-m") + 1 if "-m" in words[:7] else len(words)
        if words[at : at + 1] not in (["pip"], ["uv"]):
            return None, []
        words = words[at:]
    if not words:
        return None, []
    name, found, rest = words[0].rpartition("/")[2], list[str](), iter(words[1:])
    for word in rest:
        if not word.startswith("-"):
            found.append(word)
        elif word in _VALUES:
            next(rest, None)
    return name, found


def _modules(word: str) -> list[str]:
    match = _MODULE.fullmatch(word)
    return [word] if match is None else ["-m", *filter(None, [match["name"]])]


def installs(command: Command) -> bool:
    """Return whether a command installs packages, of Python or of the system, wherever that is."""
    system = command.program in _SYSTEM and "install" in command.words and not simulates(command)
    return system or _told(command) in ("install", "sync", "add")
