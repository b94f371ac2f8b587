"""Commands that only look, by their verb or an option: `zfs list`, `docker image inspect`, `mokutil --sb-state`."""

from stackplan.language.lint._tree import Command

_CONTAINERS = frozenset({"ps", "inspect", "images", "info", "logs", "version", "top", "port", "stats", "search"})
_VERBS = {
    "systemctl": frozenset(
        {
            *("is-active", "is-enabled", "is-failed", "is-system-running", "status", "show", "cat"),
            *("list-units", "list-unit-files", "list-timers", "list-dependencies", "list-sockets", "list-jobs"),
        }
    ),
    "git": frozenset(
        {
            "diff",
            "rev-parse",
            "status",
            "log",
            "show-ref",
            "ls-files",
            "ls-remote",
            "cat-file",
            "describe",
            "merge-base",
        }
    ),
    "docker": _CONTAINERS,
    "podman": _CONTAINERS,
    "nerdctl": _CONTAINERS,
    "kubectl": frozenset({"get", "describe", "logs", "version", "top", "explain", "api-resources", "cluster-info"}),
    "pip": frozenset({"show", "list", "check", "freeze"}),
    "pip3": frozenset({"show", "list", "check", "freeze"}),
    "scontrol": frozenset({"show", "ping"}),
    "sacctmgr": frozenset({"show", "list"}),
    "ip": frozenset({"addr", "link", "route", "a", "r"}),
    "zpool": frozenset({"status", "list", "get", "iostat"}),
    "zfs": frozenset({"list", "get"}),
    "lfs": frozenset({"df", "quota", "getstripe", "osts", "mdts", "find"}),
    "crictl": frozenset(
        {"ps", "pods", "images", "inspect", "inspecti", "inspectp", "info", "logs", "stats", "version"}
    ),
    "virsh": frozenset({"list", "dominfo", "domstate", "domblklist", "domiflist", "dumpxml", "nodeinfo", "net-info"}),
    "chronyc": frozenset({"tracking", "sources", "sourcestats", "activity"}),
    "timedatectl": frozenset({"status", "show", "timesync-status"}),
    "loginctl": frozenset({"list-sessions", "list-users", "show-user", "show-session"}),
    "resolvectl": frozenset({"status", "query"}),
    "networkctl": frozenset({"status", "list"}),
    "dkms": frozenset({"status"}),
    "apt-mark": frozenset({"showhold", "showmanual", "showauto", "showinstall", "showremove", "showpurge"}),
    "apt-key": frozenset({"list", "finger", "export", "exportall"}),
    "mst": frozenset({"status", "version"}),
    "helm": frozenset({"list", "ls", "status", "history", "get", "version"}),
    "lxc": frozenset({"list", "info"}),
    "flatpak": frozenset({"list", "info"}),
    "ufw": frozenset({"status"}),
    "nvme": frozenset({"list", "smart-log", "id-ctrl", "id-ns"}),
    "dcgmi": frozenset({"discovery"}),
    "losetup": frozenset({"--list", "-l", "-a", "-j"}),
}
"""Programs with the verbs, first of their words, by which they change nothing."""
_NOUNS = frozenset(
    {"image", "container", "volume", "network", "node", "manifest", "context", "service", "pod", "machine"}
)
_OF_NOUNS = frozenset({"ls", "list", "inspect", "exists", "ps"})
"""`docker image inspect`, `podman volume exists`: the verb behind what it is about."""
_CLOUDS = frozenset({"aws", "gcloud", "az", "gsutil", "oci"})
_OF_CLOUDS = frozenset({"ls", "list", "show", "describe"})
_OPTIONS = {
    "openssl": frozenset({"-checkend"}),
    "mokutil": frozenset({"--sb-state", "--list-enrolled", "--list-new", "--test-key", "-t", "-l", "-N"}),
    "mdadm": frozenset({"--detail", "-D", "--examine", "-E", "--query", "-Q"}),
    "swapon": frozenset({"--show", "-s"}),
    "dpkg-divert": frozenset({"--list", "--listpackage", "--truename"}),
    "update-alternatives": frozenset({"--query", "--display", "--list", "--get-selections"}),
    "iptables": frozenset({"-L", "-S", "-C", "-nL", "--list", "--check"}),
    "firewall-cmd": frozenset({"--state", "--list-all", "--list-ports", "--get-active-zones"}),
    "numactl": frozenset({"-H", "--hardware", "-s", "--show"}),
}
"""Programs with the options of which one makes it a question."""
_VALUES = {
    "git": frozenset({"-C", "-c", "--git-dir", "--work-tree"}),
    "kubectl": frozenset({"-n", "--namespace", "--context", "--kubeconfig", "-s"}),
    "helm": frozenset({"-n", "--namespace", "--kube-context", "--kubeconfig"}),
    "docker": frozenset({"-H", "--host", "-c", "--context"}),
    "crictl": frozenset({"-r", "--runtime-endpoint", "-i", "-t", "--timeout"}),
    "virsh": frozenset({"-c", "--connect"}),
    "aws": frozenset({"--region", "--profile", "--endpoint-url"}),
    "systemctl": frozenset({"-M", "--machine", "-H", "--host"}),
}
"""Options that stand before the verb, and take the next word."""


def looks_by_verb(command: Command) -> bool:
    """Return whether the verb of a command, or one of its options, says that it only looks."""
    program = command.program
    if verbs := _VERBS.get(program):
        words = _plain(command) if program in _VALUES else command.plain[:2]
        if words[:1] and words[0] in verbs:
            return True
        return program in ("docker", "podman", "nerdctl") and words[:1] != () and _of_noun(words)
    if program in _CLOUDS:
        return any(
            word in _OF_CLOUDS or word.startswith(("describe-", "list-", "head-")) for word in _plain(command)[1:3]
        )
    if options := _OPTIONS.get(program):
        return not options.isdisjoint(command.words)
    return program == "ethtool" and len(command.words) == 2


def imports(command: Command) -> bool:
    """Return whether Python is asked for a module and for nothing else: `python3 -c 'import torch'`."""
    words = command.words
    if not command.program.startswith("python") or "-c" not in words[1:-1]:
        return False
    text = words[words.index("-c") + 1].strip()
    return text.startswith(("import ", "from ")) and not {"(", ";", "\n"} & set(text)


def _of_noun(words: tuple[str, ...]) -> bool:
    return words[0] in _NOUNS and words[1:2] != () and words[1] in _OF_NOUNS


def _plain(command: Command) -> tuple[str, ...]:
    """Return the first words behind a program that are neither options nor the values of those before the verb."""
    values = _VALUES.get(command.program, frozenset())
    found: list[str] = []
    words = iter(command.words[1:12])
    for word in words:
        if word in values:
            next(words, None)
        elif not word.startswith("-"):
            found.append(word)
    return tuple(found[:3])
