"""What an exit status means of a command: work that failed, an answer, or nothing that matters."""

from collections.abc import Iterator

from stackplan.language.lint._apt import simulates
from stackplan.language.lint._cleaning import cleans
from stackplan.language.lint._looking import looks_by_verb
from stackplan.language.lint._notices import notifies
from stackplan.language.lint._tree import Block, Command, Group, Pipeline, surface, surface_of, within
from stackplan.model.regular import regular

_SAYING = frozenset({"echo", "printf", "logger", "wall", "date", "sleep", "true", ":", "cat", "tput"})
_ANSWERING = frozenset(
    {
        "grep", "egrep", "fgrep", "zgrep", "rg", "test", "[", "[[", "diff", "cmp", "pgrep", "pidof",
        "read", "expr", "let", "which", "type", "hash", "id", "getent", "groups", "mountpoint", "findmnt",
        "lsof", "lsmod", "modinfo", "lspci", "lsblk", "ls", "stat", "df", "du", "free", "uname", "hostname",
        "ps", "ss", "netstat", "ping", "nc", "journalctl", "dmesg", "last", "dpkg-query", "apt-cache", "rpm",
        "ldconfig", "nvcc", "getfacl", "whoami", "env", "printenv", "locale", "squeue", "sinfo",
        "showmount", "file", "head", "tail", "wc", "cut", "tr", "sort", "awk", "basename", "dirname",
        "readlink", "realpath", "seq", "shopt", "nproc", "numfmt", "jq", "ibstat", "nvidia-debugdump", "wait",
        "jobs", "blkid", "vgs", "pvs", "lvs", "getcap", "lscpu", "lsusb", "lsmem", "lsscsi", "uptime", "who", "w",
        "vmstat", "iostat", "mpstat", "numastat", "ibstatus", "ibv_devinfo", "ibv_devices", "ibdev2netdev",
        "dmidecode", "smartctl", "column", "host", "dig", "nslookup", "getenforce", "sestatus", "sensors",
        "apt-config", "debconf-show", "ofed_info", "lshw", "lstopo", "iblinkinfo", "ibhosts", "lsinitramfs",
    }
)  # fmt: skip
"""Programs that change nothing: a status other than 0 is an answer and no failure."""
_SHOWING = frozenset(
    {
        "tail", "head", "journalctl", "dmesg", "ps", "df", "free", "lsmod", "lspci", "uptime", "env", "mail", "mailx",
        "sendmail", "notify-send",
    }
)  # fmt: skip
_SHOWING_VERBS = {
    "docker": frozenset({"logs", "ps"}),
    "podman": frozenset({"logs", "ps"}),
    "kubectl": frozenset({"logs", "describe", "get"}),
}
"""What is looked at when something failed, with a status that says nothing of it: `A || tail -n 50 LOG`."""
_DPKG = regular(r"-[a-zA-Z]*[sSlLqV]|--(?:status|list|search|audit|verify|compare-versions|print-architecture)")
_CURL = regular(r"-[a-zA-Z]*[oOTdF].*|--(?:output|remote-name|upload-file|data|json|form).*")
_LAST_STATUS = regular(r"\$\{?\?|\$\{PIPESTATUS\b")
_NVIDIA_SMI = ("-q", "-L", "-i", "-d", "-l", "--query", "--format", "--id", "--list")


def asks(command: Command) -> bool:
    """Return whether a command only looks, so that its status is an answer."""
    if not command.words:
        return not command.inner
    if command.words[0].startswith("(("):
        # Of `((n++))` the status says whether the result is 0.
        return True
    if command.program in _ANSWERING or looks_by_verb(command) or simulates(command):
        return True
    if command.program in ("uv", "conda", "apt", "snap"):
        return bool({"list", "show", "freeze", "info", "check"} & set(command.plain[:2]))
    return _looks(command)


def _looks(command: Command) -> bool:
    """Return whether a program that may do one or the other only looks, by its options."""
    words, program = command.words[1:], command.program
    looks = {
        "find": lambda: not {"-delete", "-exec", "-execdir", "-ok"} & set(words),
        "sed": lambda: not command.has_flag("i", "--in-place"),
        "nvidia-smi": lambda: (
            words[:1] in (("topo",), ("nvlink",)) or all(it.startswith(_NVIDIA_SMI) or it[:1] != "-" for it in words)
        ),
        "mount": lambda: not words,
        "sysctl": lambda: (
            not any("=" in word for word in words)
            and not command.has_flag("w", "--write", "--load", "--system")
            and not command.has_flag("p")
            and not command.has_flag("f")
        ),
        "command": lambda: bool({"-v", "-V"} & set(words)),
        "sudo": lambda: bool({"-v", "-l", "-k"} & set(words)),
        "fuser": lambda: not command.has_flag("k", "--kill"),
        "crontab": lambda: "-l" in words,
        "dpkg": lambda: any(_DPKG.fullmatch(word) for word in words[:1]),
        # A request that is written nowhere is a question.
        "curl": lambda: (
            all(to == "/dev/null" or "&" in sign for sign, to in command.redirections)
            and not any(
                _CURL.fullmatch(word) and to != "/dev/null" for word, to in zip(words, (*words[1:], ""), strict=False)
            )
        ),
        "wget": lambda: bool({"--spider", "-qO-", "-O-"} & set(words)),
    }
    if program.startswith("python"):
        return any(word in ("-V", "--version") for word in words[:1])
    return program in looks and looks[program]()


def says(command: Command) -> bool:
    """Return whether a command only tells somebody something."""
    return command.program in _SAYING and not any(
        sign.startswith((">", "&>")) and target.startswith("/") and not target.startswith("/dev/")
        for sign, target in command.redirections
    )


def works(command: Command) -> bool:
    """Return whether a command is to change something, so that its failure has to be heard of."""
    return bool(command.words) and not (
        asks(command) or says(command) or cleans(command) or _leads(command) or notifies(command)
    )


def _leads(command: Command) -> bool:
    """Return whether it is of the shell itself and leads on: `cd`, `set`, `export`."""
    return command.program in (
        *("set", "shopt", "export", "local", "declare", "readonly", "trap", "source", ".", "cd", "exit", "return"),
        *("break", "continue", "false", "shift", "umask", "ulimit", "alias"),
    )


def nothing(command: Command) -> bool:
    """Return whether a command does nothing and ends well: `true`, `:`, `exit 0`."""
    if command.program in ("exit", "return"):
        return command.words[1:] == ("0",)
    return command.program in ("true", ":")


def passes_over(block: Block) -> bool:
    """Return whether what runs after a failure only says so, or ends with a success that says nothing."""
    found = list(surface_of(block))
    if not found or any(leaves(it) or mentions(it, "?") for it in found):
        return False
    return nothing(found[-1]) or all(says(it) or nothing(it) or shows(it) for it in found)


def shows(command: Command) -> bool:
    """Return whether a command shows somebody how things are, or writes to somebody, and ends well in any case."""
    verbs = _SHOWING_VERBS.get(command.program)
    if verbs is not None:
        return bool(verbs & set(command.plain[:1]))
    if command.program == "curl":
        return command.has_flag("d", "--data", "--json", "--data-binary", "--data-raw") or command.has("-X", "-F")
    return command.program in _SHOWING and not command.has_flag("f", "--follow")


def leaves(command: Command) -> bool:
    """Return whether a command ends the script or the round, or tells of a failure by its own status."""
    if command.program in ("exit", "return"):
        return command.words[1:] != ("0",)
    return command.program in ("false", "break", "continue", "kill")


def mentions(command: Command, name: str) -> bool:
    """Return whether a variable is a part of a command's words: `$rc`, `${rc}`, `"$?"`."""
    if name != "?":
        return name in command.variables
    words = (*command.words, *command.assignments)
    return any(("?" in word or "PIPESTATUS" in word) and _LAST_STATUS.search(word) for word in words)


def asked(pipeline: Pipeline) -> bool:
    """Return whether a pipeline looks at the status of what ran before it: `rc=$?`, `case $? in`."""
    groups = (part for part in pipeline.parts if isinstance(part, Group))
    if any("?" in word and _LAST_STATUS.search(word) for group in groups for word in group.words):
        return True
    return any(mentions(it, "?") for it in within(pipeline))


def working(pipeline: Pipeline) -> list[Command]:
    """Return the commands of a pipeline whose failure has to be heard of."""
    return [it for part in pipeline.parts for at in surface(part) for it in _itself(at) if works(it)]


def _itself(command: Command) -> Iterator[Command]:
    """Yield a command; in the place of one that only assigns, those whose output it takes."""
    if command.words:
        yield command
    else:
        for block in command.inner:
            yield from surface_of(block)
