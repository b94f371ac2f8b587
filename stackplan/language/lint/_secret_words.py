"""Secrets among a command's words: `--password X`, `-u USER:X`, `-H "X-API-Key: X"`, what is piped into chpasswd."""

from collections.abc import Iterator

from stackplan.language.lint._secrets import named
from stackplan.language.lint._shell import Command
from stackplan.language.secret_name import in_clear, is_secret_name

_LOGIN = {
    "curl": ("-u", "--user", "-U", "--proxy-user"),
    "http": ("-a", "--auth"),
    "https": ("-a", "--auth"),
    "skopeo": ("--creds", "--src-creds", "--dest-creds"),
    "podman": ("--creds",),
    "smbclient": ("-U", "--user"),
}
"""Options whose value is USER:PASSWORD (USER%PASSWORD of smbclient)."""
_PASSWORD = {
    "sshpass": ("-p",),
    "docker": ("-p",),
    "podman": ("-p",),
    "nerdctl": ("-p",),
    "helm": ("-p",),
    "oras": ("-p",),
    "mysql": ("-p",),
    "mysqldump": ("-p",),
    "mysqladmin": ("-p",),
    "mariadb": ("-p",),
    "redis-cli": ("-a", "--pass"),
    "ipmitool": ("-P",),
    "ldapsearch": ("-w",),
    "curl": ("--oauth2-bearer", "--pass"),
}
"""Options whose value is a password by itself. Of docker and its like only where they log in."""
_LOGS_IN = frozenset({"docker", "podman", "nerdctl", "helm", "oras"})
_SEARCHING = frozenset({"grep", "egrep", "fgrep", "rg", "awk", "sed", "echo", "printf"})
"""What they are given is a pattern or a sentence; what they write to a file is read as its lines."""
_ASKING = frozenset({"curl", "wget", "http", "https", "grpcurl"})
_LONGEST_NAME = 60


def of_words(command: Command, before: Command | None) -> Iterator[str]:
    """Yield the names of what stands in clear in a command, less the variables that it sets.

    `before` is the command that is piped into it.
    """
    yield from _options(command)
    if command.program not in _SEARCHING:
        for word in command.words[1:]:
            if "=" in word or (command.program in _ASKING and ":" in word):
                yield from (name for name, _ in named(word))
    if _reads_secret(command):
        printed = before.words[-1] if before is not None and before.program in ("echo", "printf") else ""
        told = printed if command.stdin is None else command.stdin[0].strip()
        if in_clear(told.rpartition(":")[2], shortest=3):
            yield f"the input of {command.program}"


def _options(command: Command) -> Iterator[str]:
    """Yield the options whose value is written out, and `wandb login` with its key."""
    words = command.words
    for at, word in enumerate(words[1:], 1):
        if word.startswith("-"):
            following = words[at + 1] if at + 1 < len(words) else ""
            if _says_secret(word, following) or _says_login(command, word, following):
                name = word.partition("=")[0]
                yield name if name.startswith("--") else word[:2]
    plain = [it for it in words if not it.startswith("-")]
    if command.starts("wandb", "login") and in_clear("".join(plain[2:3])):
        yield "wandb login"


def _says_secret(word: str, following: str) -> bool:
    """Return whether a long option is called after a secret; one with its value behind `=` is read by `named`."""
    long = word.startswith("--") and "=" not in word and len(word) <= _LONGEST_NAME
    return long and is_secret_name(word[2:]) and not following.startswith("-") and in_clear(following)


def _says_login(command: Command, word: str, following: str) -> bool:
    """Return whether an option that this program takes a password by is given one."""
    program = command.program
    if (login := _value(word, following, _LOGIN.get(program, ()))) is not None:
        user, separator, password = login.partition("%" if program == "smbclient" else ":")
        return separator != "" and in_clear(user, shortest=1) and in_clear(password, shortest=1)
    if program in _LOGS_IN and "login" not in command.words:
        return False
    password = _value(word, following, _PASSWORD.get(program, ())) or ""
    return in_clear(password, shortest=3)


def _value(word: str, following: str, options: tuple[str, ...]) -> str | None:
    """Return the value of one of the options: `-uX`, `-u X`, `-su X`, `--user X`, `--user=X`; None of another word."""
    for option in options:
        if word == option:
            return following
        if option.startswith("--"):
            if word.startswith(f"{option}="):
                return word.removeprefix(f"{option}=")
        elif not word.startswith("--"):
            if word.startswith(option):
                return word[2:]
            if word.endswith(option[1]) and word[1:].isalpha() and len(word) <= len("-fsSLu"):
                return following
    return None


def _reads_secret(command: Command) -> bool:
    if command.program in ("chpasswd", "passwd"):
        return command.program == "chpasswd" or "--stdin" in command.words
    return any(it in command.words for it in ("--password-stdin", "--with-token", "--token-stdin"))
