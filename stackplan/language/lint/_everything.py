"""Which calls of an installer of the system change all packages, whatever those are: `dnf upgrade` with no name."""

from stackplan.language.lint._tree import Command
from stackplan.model.regular import regular

_UPGRADES = frozenset({"upgrade", "update"})
_DNF = _UPGRADES | {"upgrade-minimal", "update-minimal", "distro-sync", "distribution-synchronization", "autoremove"}
_VERBS = {
    **dict.fromkeys(("dnf", "dnf5", "yum", "microdnf", "tdnf"), _DNF | {"system-upgrade", "offline-upgrade"}),
    "zypper": frozenset({"dup", "dist-upgrade", "up", "update", "patch"}),
    "transactional-update": frozenset({"dup", "up", "patch"}),
    "rpm-ostree": frozenset({"upgrade", "rebase"}),
    "apk": frozenset({"upgrade"}),
    "pkcon": _UPGRADES | {"upgrade-system"},
    "leapp": frozenset({"upgrade"}),
}
_WITH_NAMES = frozenset(
    {"dup", "dist-upgrade", "patch", "system-upgrade", "offline-upgrade", "upgrade-system", "rebase"}
)
"""Verbs that change everything also with words behind them: those name repositories and releases."""
_VALUES = regular(r"-[cxdeRr]|--(?:config|exclude|enablerepo|disablerepo|repo|repoid|root|installroot|from|releasever)")
_ALL_NAMES = frozenset({"*", "~U", "?upgradable", "~i", "?installed"})
_PACMAN = regular(r"-S[a-z]*u[a-z]*|--sysupgrade")
_ONLY_LOOKING = frozenset(
    {"--downloadonly", "--assumeno", "--dry-run", "-D", "--download-only", "--print", "--simulate"}
)


def upgrades_everything(command: Command) -> str | None:
    """Return the call in two words, `dnf upgrade`, where it changes all packages of the system; None of another."""
    if command.program == "pacman":
        found = next((word for word in command.words[1:] if _PACMAN.fullmatch(word)), None)
        return f"pacman {found}" if found and not _ONLY_LOOKING & set(command.words) else None
    if command.program == "dnf-automatic":
        return "dnf-automatic --installupdates" if command.has("--installupdates") else None
    verbs = _VERBS.get(command.program)
    if verbs is None or command.has(*_ONLY_LOOKING):
        return None
    verb, *names = (*command.operands(_VALUES), "")
    if verb not in verbs or (verb not in _WITH_NAMES and any(it and it not in _ALL_NAMES for it in names)):
        return None
    return f"{command.program} {verb}"


def names_everything(word: str) -> bool:
    """Return whether what apt is to install is a pattern for all that can be upgraded."""
    return word in _ALL_NAMES
