"""Which commands take away what may be gone already, or make what may be there: they may end as they like."""

from stackplan.language.lint._handed import SHELLS
from stackplan.language.lint._tree import Command
from stackplan.model.regular import regular

_CLEANING = frozenset(
    {
        "rm", "rmdir", "unlink", "kill", "mkdir", "umount", "popd", "pushd", "deactivate", "unset", "unalias",
        "stty", "sync", "pkill", "killall", "disown", "userdel", "groupdel", "deluser", "delgroup", "rmmod", "ipcrm",
        "atrm", "swapoff", "lvremove", "vgremove", "pvremove", "delpart", "fstrim",
    }
)  # fmt: skip
"""Programs whose failure leaves what was there: nothing to remove, nobody to end, a folder that exists."""
_TAKING_AWAY = regular(
    r"(?:del|delete|remove|rm|destroy|uninstall|undefine|detach|disconnect|unload|unmount|umount)(?:-[\w-]+)?"
    r"|close|luksClose|prune|rmi"
)
"""Verbs of any program: `ip link del`, `docker volume rm`, `nft delete`, `helm uninstall`, `cryptsetup close`."""
_PACKAGES = frozenset(
    {
        "apt", "apt-get", "aptitude", "nala", "dnf", "yum", "microdnf", "zypper", "rpm", "dpkg", "snap", "flatpak",
        "brew", "pip", "pip2", "pip3", "uv", "pipx", "poetry", "conda", "mamba", "micromamba", "npm", "cargo",
        "gem", "dkms",
    }
)  # fmt: skip
"""What they remove may be held, half removed or shared: such a failure is no proof that it was gone."""
_STARTING = SHELLS | {"ssh", "systemctl", "service", "cp", "mv", "ln", "rsync", "scp", "tar"}
"""Programs whose words name something else than what they do: a file, a unit, another program."""
_PYTHON = regular(r"(?:python|pypy|pip)[\d.]*")
_VERBS = {
    "docker": frozenset({"stop", "kill", "down", "leave"}),
    "podman": frozenset({"stop", "kill", "down", "leave"}),
    "docker-compose": frozenset({"down", "stop", "kill"}),
    "git": frozenset({"stash", "gc"}),
    "tmux": frozenset({"kill-session", "kill-server", "kill-window"}),
    "ip": frozenset({"flush"}),
    "systemctl": frozenset({"reset-failed"}),
}
_OPTIONS = {
    "losetup": ("dD", "--detach", "--detach-all"),
    "iptables": ("DX", "--delete", "--delete-chain"),
    "ip6tables": ("DX", "--delete", "--delete-chain"),
    "ebtables": ("DX", "--delete", "--delete-chain"),
    "fusermount": ("u", "--unmount"),
    "fusermount3": ("u", "--unmount"),
    "crontab": ("r",),
    "modprobe": ("r", "--remove"),
    "mdadm": ("S", "--stop"),
    "gpasswd": ("d", "--delete"),
    "screen": ("X",),
    "exportfs": ("u",),
    "multipath": ("f", "--flush"),
    "ipset": ("X", "--destroy"),
    "update-alternatives": ("", "--remove", "--remove-all"),
    "ssh-keygen": ("R",),
    "shutdown": ("c",),
    "ssh": ("O",),
    "chattr": ("", "-i"),
}
"""Letters and long options by which a program takes away."""
_COMPOSE = frozenset({"down", "stop", "kill"})
"""Verbs of `docker compose`, which stand behind the options for its files."""
_WORDS = {
    "git": frozenset({"-D"}),
    "vgchange": frozenset({"-an"}),
    "nvidia-smi": frozenset({"-caa", "--clear-accounted-apps", "-dci", "-dgi", "--destroy-gpu-instance"}),
}

_PERSISTENCE_OFF = tuple(f"{option}{value}" for option in ("-pm ", "-pm=", "--persistence-mode=") for value in "0D")


def cleans(command: Command) -> bool:
    """Return whether a command takes away or makes what may be gone, or there, already."""
    program = command.program
    if program in _CLEANING or _WORDS.get(program, frozenset()) & set(command.words):
        return True
    if program in ("docker", "podman") and command.plain[:1] == ("compose",) and not _COMPOSE.isdisjoint(command.plain):
        return True
    if program == "nvidia-smi" and _unpins(command):
        return True
    own = program == "systemctl" and "--user" in command.words and "stop" in command.plain[:1]
    deletes = program == "find" and "-delete" in command.words and not command.handed
    if own or deletes or _by_option(command):
        return True
    verbs = _verbs(command)
    if _VERBS.get(program, frozenset()) & set(verbs):
        return True
    return bool(verbs) and _has_verbs(command) and any(_TAKING_AWAY.fullmatch(it) for it in verbs)


def _unpins(command: Command) -> bool:
    """Return whether persistence mode is switched off, before a driver goes: where no driver is loaded, it is off."""
    words = " ".join(command.words)
    return any(it in words for it in _PERSISTENCE_OFF)


def _by_option(command: Command) -> bool:
    letters, *long = _OPTIONS.get(command.program, ("",))
    return any(command.has_flag(it) for it in letters) or (bool(long) and command.has(*long))


def _verbs(command: Command) -> tuple[str, ...]:
    """Return the words among which the verb stands: the first two, three where an option with its value may come first.

    `kubectl -n gpu delete pod` and `ip -n ns link del` have their verb behind it.
    """
    late = 1 if command.words[1:2] and command.words[1].startswith("-") else 0
    return command.plain[: 2 + late]


def _has_verbs(command: Command) -> bool:
    """Return whether the words of a program tell what it does, and a failure to remove may be that nothing is there."""
    return command.program not in _PACKAGES | _STARTING and _PYTHON.fullmatch(command.program) is None
