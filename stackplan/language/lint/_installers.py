"""Which commands install or remove packages of Python."""

from stackplan.language.lint._shell import Command

PIP = frozenset({"pip", "pip3"})
_VERBS = frozenset({"install", "uninstall", "sync"})


def verb(command: Command) -> str | None:
    """Return what an installer of Python packages is told to do: install, uninstall, sync; None of anything else."""
    words = [word for word in command.words if not word.startswith("-") or word == "-m"]
    name = command.program
    if name.startswith("python") and words[1:3] in (["-m", "pip"], ["-m", "uv"]):
        words = words[2:]
        name = words[0]
    if name == "uv" and words[1:2] == ["pip"]:
        words = words[1:]
    elif name == "uv":
        return words[1] if words[1:2] in (["sync"], ["add"]) else None
    elif name in ("conda", "mamba", "micromamba"):
        return words[1] if words[1:2] in (["install"], ["update"], ["remove"]) else None
    elif name not in PIP and not (name.startswith("pip3.") and name[5:].isdigit()):
        return None
    return words[1] if len(words) > 1 and words[1] in _VERBS else None


def installs(command: Command) -> bool:
    """Return whether a command installs packages, of Python or of the system."""
    system = command.program in ("apt", "apt-get", "dnf", "yum") and "install" in command.words
    return system or verb(command) in ("install", "sync", "add")
