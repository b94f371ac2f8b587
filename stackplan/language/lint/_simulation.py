"""Which calls of an installer of the system leave the node as it is: simulations, downloads, those for an image."""

from stackplan.language.lint._tree import Command

APT = frozenset({"apt", "apt-get", "aptitude", "nala"})
_ONLY_LOOKING = {
    **dict.fromkeys(APT, "sd"),
    **dict.fromkeys(("dnf", "dnf5", "yum", "microdnf", "tdnf"), ""),
    "zypper": "dD",
    **dict.fromkeys(("unattended-upgrade", "unattended-upgrades"), ""),
    "do-release-upgrade": "c",
}
"""Programs that can be told to change nothing, with the letters that tell them; each has its words for it as well."""
_ONLY_LOOKING_LONG = (
    "--simulate", "--dry-run", "--just-print", "--recon", "--no-act", "--download-only", "--downloadonly",
    "--print-uris", "--assumeno", "--testonly", "--check-dist-upgrade-only", "--help", "--version",
)  # fmt: skip
_SIMULATING = ("apt::get::simulate=", "apt::get::download-only=")


def spares_node(command: Command) -> bool:
    """Return whether an installer of the system changes nothing on the node, but at most another root (an image)."""
    return command.elsewhere or command.has("--installroot", "--root") or simulates(command)


def simulates(command: Command) -> bool:
    """Return whether an installer of the system is told to change nothing: a simulation, or a download for later."""
    letters = _ONLY_LOOKING.get(command.program)
    if letters is None:
        return False
    return command.has(*_ONLY_LOOKING_LONG) or any(_only_looks(word, letters) for word in command.words[1:])


def _only_looks(word: str, letters: str) -> bool:
    """Return whether a word tells a simulation by one of the letters, or by a setting of apt."""
    if word.lower().removeprefix("-o").startswith(_SIMULATING):
        return word.endswith(("=1", "=true", "=yes"))
    if not word.startswith("-") or word.startswith(("--", "-o", "-t")) or not word[1:].isalpha():
        return False
    # Of apt, what follows `-c` is the name of a file.
    return any(it in letters for it in word[1:]) and ("c" in letters or word[1] != "c")
