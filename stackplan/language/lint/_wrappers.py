"""Programs that run the program that follows: `sudo -u ops env A=1 timeout 60 pip …` is a `pip …`."""

import re
from dataclasses import replace

from stackplan.language.lint._tree import Command
from stackplan.model.frozen import dataclass
from stackplan.model.regular import regular

ASSIGNMENT = regular(r"[A-Za-z_]\w*\+?=")


@dataclass(frozen=True, slots=True)
class _Wrapper:
    """`values` are the options that take the next word, letters or whole words; `operands` the words of its own."""

    values: tuple[str, ...] = ()
    operands: int = 0
    verbs: tuple[str, ...] = ()

    def takes_next(self, option: str) -> bool:
        if option.startswith("--"):
            return option in self.values
        return len(option) >= 2 and option[-1] in self.values and not any(it in self.values for it in option[1:-1])


def _wrapper(letters: str = "", *long: str, operands: int = 0, verbs: tuple[str, ...] = ()) -> _Wrapper:
    return _Wrapper((*letters, *long), operands, verbs)


_USER_OPTIONS = ("--user", "--group", "--chdir", "--prompt", "--host", "--role", "--type", "--other-user")
_RUN = ("run",)
_WRAPPERS = {
    "sudo": _wrapper("ugpCcrthDRUT", *_USER_OPTIONS, "--close-from", "--command-timeout", "--chroot"),
    "doas": _wrapper("uC"),
    "pkexec": _wrapper("", "--user"),
    "env": _wrapper("uC", "--unset", "--chdir"),
    "timeout": _wrapper("ks", "--kill-after", "--signal", operands=1),
    "nice": _wrapper("n", "--adjustment"),
    "ionice": _wrapper("cn", "--class", "--classdata"),
    "chrt": _wrapper("TPD", operands=1),
    "taskset": _wrapper("", operands=1),
    "numactl": _wrapper("mNCip", "--membind", "--cpunodebind", "--physcpubind", "--interleave", "--preferred"),
    "stdbuf": _wrapper("ioe", "--input", "--output", "--error"),
    "chroot": _wrapper("", operands=1),
    "unshare": _wrapper("SG"),
    "nsenter": _wrapper("t", "--target"),
    "setpriv": _wrapper("", "--reuid", "--regid"),
    "flock": _wrapper("wE", "--timeout", "--wait", "--conflict-exit-code", operands=1),
    "strace": _wrapper("oepsuEPIb"),
    "xargs": _wrapper("InPLdEsa", "--max-args", "--max-procs", "--max-lines", "--replace", "--delimiter", "--arg-file"),
    "parallel": _wrapper("jN", "--jobs"),
    "systemd-run": _wrapper("puEMH", "--property", "--unit", "--slice", "--setenv", "--uid", "--gid", "--description"),
    "systemd-inhibit": _wrapper("", "--what", "--who", "--why", "--mode"),
    "runuser": _wrapper("ugG", "--user", "--group", "--supp-group"),
    "busybox": _wrapper(),
    "nohup": _wrapper(),
    "exec": _wrapper("a"),
    "command": _wrapper(),
    "builtin": _wrapper(),
    "time": _wrapper("of"),
    "setsid": _wrapper(),
    "chronic": _wrapper(),
    "unbuffer": _wrapper(),
    "eatmydata": _wrapper(),
    "conda": _wrapper("np", "--name", "--prefix", "--cwd", verbs=_RUN),
    "mamba": _wrapper("np", "--name", "--prefix", "--cwd", verbs=_RUN),
    "micromamba": _wrapper("np", "--name", "--prefix", "--cwd", verbs=_RUN),
    "uv": _wrapper("p", "--python", "--project", "--directory", "--with", "--env-file", verbs=_RUN),
    "poetry": _wrapper("", verbs=_RUN),
    "ip": _wrapper("", operands=1, verbs=("netns", "exec")),
}
_MOST_WRAPPERS = 100
"""So many are taken off at most, for each costs what stands behind it."""
_LOGIN = frozenset({"-i", "-s", "--login", "--shell"})
_USERS = {
    "sudo": ("-u", "--user"),
    "doas": ("-u",),
    "pkexec": ("--user",),
    "runuser": ("-u", "--user"),
    "systemd-run": ("--uid",),
    "setpriv": ("--reuid",),
}
"""Programs that act as another user, with the options that name who; root without any."""


def unwrapped(command: Command) -> Command:
    """Return the command without what stands before the program that is meant: assignments, sudo, env, timeout."""
    if not command.words or not (
        command.words[0].rpartition("/")[2] in _WRAPPERS or ASSIGNMENT.match(command.words[0])
    ):
        return command
    words = list(command.words)
    assignments, wrappers, user = list(command.assignments), list(command.wrappers), command.user
    given, elsewhere = list(command.given), command.elsewhere
    while words and len(wrappers) < _MOST_WRAPPERS:
        name = words[0].rpartition("/")[2]
        if ASSIGNMENT.match(words[0]):
            assignments.append(words.pop(0))
        elif name in _WRAPPERS and (rest := _behind(name, words)) is not None:
            own = words[1 : len(words) - len(rest)]
            if name in _USERS:
                user = _user(own, _USERS[name]) or user or _default_user(name)
            elsewhere = elsewhere or _changes_root(name, own)
            wrappers.append(name)
            given += own
            words = rest
        else:
            break
    told = replace(command, words=tuple(words), assignments=tuple(assignments), user=user, elsewhere=elsewhere)
    return replace(told, wrappers=tuple(wrappers), given=tuple(given))


def _behind(name: str, words: list[str]) -> list[str] | None:
    """Return the words that a wrapper runs; None where it is told to do something else."""
    wrapper = _WRAPPERS[name]
    if tuple(words[1 : 1 + len(wrapper.verbs)]) != wrapper.verbs:
        return None
    rest = words[1 + len(wrapper.verbs) :]
    given: list[str] = []
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        given.append(option)
        if option == "--":
            break
        if name == "env" and option in ("-S", "--split-string") and rest:
            return rest.pop(0).split() + rest
        if wrapper.takes_next(option) and rest:
            rest.pop(0)
    if not _starts_another(name, given):
        return None
    rest = rest[wrapper.operands :]
    if name == "flock" and rest[:1] in (["-c"], ["--command"]):
        return ["sh", *rest]
    if not rest and name in ("sudo", "doas") and _LOGIN & set(given):
        return ["sh"]
    return rest or None


def _starts_another(name: str, given: list[str]) -> bool:
    """Return whether a wrapper with these options runs what follows: `command -v X` only asks for it."""
    if name == "command":
        return not {"-v", "-V"} & set(given)
    # `runuser - ops -c TEXT` is su under another name.
    return name != "runuser" or any(it.startswith(("-u", "--user")) for it in given)


def _changes_root(name: str, own: list[str]) -> bool:
    """Return whether a wrapper with these words runs what follows in another root than the node's."""
    if name == "chroot":
        return own[-1:] not in (["/"], ["/proc/1/root"])
    return name == "sudo" and any(word == "-R" or word.startswith("--chroot") for word in own)


def _default_user(name: str) -> str | None:
    return "root" if name in ("sudo", "doas", "pkexec") else None


def _user(words: list[str], options: tuple[str, ...]) -> str | None:
    """Return the user that the options of a wrapper name; None where they name none."""
    for word, following in zip(words, (*words[1:], ""), strict=False):
        for option in options:
            if option.startswith("--"):
                if word == option or word.startswith(f"{option}="):
                    return word.partition("=")[2] or following
            elif re.fullmatch(r"-[A-Za-z]*u", word):
                return following
            elif word.startswith(option):
                return word[len(option) :]
    return None
