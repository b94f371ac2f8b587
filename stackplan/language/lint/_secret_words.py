"""Secrets among a command's words: `--password X`, `-u USER:X`, `-H "X-API-Key: X"`, what is piped into chpasswd."""

from collections.abc import Iterator
from itertools import pairwise

from stackplan.language.lint._expected import typed
from stackplan.language.lint._secret_places import by_place
from stackplan.language.lint._secrets import named
from stackplan.language.lint._shell import Command
from stackplan.language.secret_name import in_clear, is_secret_name
from stackplan.model.regular import regular

_LOGIN = {
    "curl": ("-u", "--user", "-U", "--proxy-user"),
    "http": ("-a", "--auth"),
    "https": ("-a", "--auth"),
    "skopeo": ("--creds", "--src-creds", "--dest-creds"),
    "podman": ("--creds",),
    "smbclient": ("-U", "--user"),
    "rpcclient": ("-U", "--user"),
    "samba-tool": ("-U", "--username"),
    "net": ("-U", "--user"),
}
"""Options whose value is USER:PASSWORD (USER%PASSWORD of Samba's programs)."""
_OF_SAMBA = frozenset({"smbclient", "rpcclient", "samba-tool", "net"})
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
    **dict.fromkeys(("redfishtool", "ipmi-chassis", "ipmi-config", "ipmi-sel", "ipmipower", "ipmiconsole"), ("-p",)),
    "skopeo": ("-p",),
    "buildah": ("-p",),
    "crane": ("-p",),
    "az": ("-p",),
    **dict.fromkeys(("ldapsearch", "ldapmodify", "ldapadd", "ldapdelete", "ldapwhoami", "ldappasswd"), ("-w",)),
    **dict.fromkeys(("mongo", "mongosh", "mongodump", "mongorestore"), ("-p",)),
    **dict.fromkeys(("mosquitto_pub", "mosquitto_sub", "mosquitto_rr"), ("-P",)),
    **dict.fromkeys(("snmpget", "snmpset", "snmpwalk", "snmpbulkwalk"), ("-A", "-X")),
    "ssh-keygen": ("-N",),
    "zip": ("-P",),
    "unzip": ("-P",),
    "curl": ("--oauth2-bearer", "--pass"),
    "useradd": ("-p",),
    "usermod": ("-p",),
}
"""Options whose value is a password by itself. Of docker and its like only where they log in."""
_EXACTLY = {
    "openssl": ("-k", "-K"),
    "keytool": ("-storepass", "-keypass", "-srcstorepass", "-deststorepass", "-new"),
    "racadm": ("-p",),
}
"""The same where such letters begin other options: `openssl enc -k PASSWORD` and `-kfile FILE`."""
_PACKING = frozenset({"7z", "7za", "7zr", "7zz", "rar", "unrar"})
"""Their password stands in one word with its option; `-p` alone asks for it."""
_TAKING = frozenset({*_LOGIN, *_PASSWORD, *_EXACTLY, *_PACKING})
_LOGS_IN = frozenset({"docker", "podman", "nerdctl", "helm", "oras", "skopeo", "buildah", "crane", "az"})
_MOUNTING = frozenset({"docker", "podman", "nerdctl", "buildah", "docker-compose"})
"""Their `--secret` names what is mounted: `id=hf,src=/run/secrets/hf`."""
_SEARCHING = frozenset({"grep", "egrep", "fgrep", "rg", "awk", "sed", "echo", "printf"})
"""What they are given is a pattern or a sentence; what they write to a file is read as its lines."""
_OF_OPENSSL = frozenset({"-pass", "-passin", "-passout", "-password"})
_READING = frozenset({"chpasswd", "passwd", "kinit"})
_ASKED_TO_READ = frozenset({"--password-stdin", "--with-token", "--token-stdin"})
_OF_CRYPTSETUP = frozenset({"luksFormat", "luksOpen", "luksAddKey", "luksChangeKey", "open", "resize"})
_FROM_STDIN = regular(r"-[ABbEeHKkNnPsi]*S[ABbEeHKkNnPSsi]*|--stdin")
"""The option of sudo."""
_ASKING = frozenset({"curl", "wget", "http", "https", "grpcurl"})
_LONGEST_NAME = 60


def of_words(command: Command, before: Command | None) -> Iterator[tuple[str, str]]:
    """Yield what stands in clear in a command, less the variables that it sets: what it is, and the secret itself.

    `before` is the command that is piped into it.
    """
    yield from _options(command)
    yield from (("the password that `expect` types", it) for it in typed(command))
    if command.program not in _SEARCHING:
        for word in command.words[1:]:
            if "=" in word or (command.program in _ASKING and ":" in word):
                yield from ((f"the value of `{name}`", value) for name, _, value in named(word))
    if (reader := _reads_secret(command)) is not None:
        for line in _input(command, before):
            secret = line.partition(":")[2] if reader == "chpasswd" else line
            if in_clear(secret, shortest=3):
                yield f"the secret that `{reader}` reads", secret.strip()


def _input(command: Command, before: Command | None) -> list[str]:
    """Return the lines that a command reads, where they are known: what is printed to it, or its here-document."""
    if before is None or before.program not in ("echo", "printf"):
        return command.stdin[0].splitlines() if command.stdin is not None else []
    form, *given = before.words[1:] or ("",)
    if before.program == "printf" and given:
        form = form.replace("%s", given[0], 1) if form.count("%s") == 1 else "\n".join(given)
    else:
        form = before.words[-1]
    return form.replace("\\n", "\n").splitlines()


def _options(command: Command) -> Iterator[tuple[str, str]]:
    """Yield the options whose value is written out, and what is given without one."""
    words, taking = command.words, command.program in _TAKING
    # Whether it logs in is asked once, for there may be very many words.
    asked = taking and (command.program not in _LOGS_IN or "login" in words)
    for at, word in enumerate(words[1:], 1):
        if word.startswith("-"):
            following = words[at + 1] if at + 1 < len(words) else ""
            told = word.startswith("--") and _says_secret(command, word, following)
            secret = following if told else _password(command, word, following, asked=asked) if taking else None
            if secret is not None:
                name = word.partition("=")[0]
                short = (
                    not name.startswith("--")
                    and name not in _OF_OPENSSL
                    and word not in _EXACTLY.get(command.program, ())
                )
                yield f"the value of `{word[:2] if short else name}`", secret
    yield from by_place(command)


def _says_secret(command: Command, word: str, following: str) -> bool:
    """Return whether a long option is called after a secret; one with its value behind `=` is read by `named`."""
    if word == "--secret" and command.program in _MOUNTING:
        return False
    long = word.startswith("--") and "=" not in word and len(word) <= _LONGEST_NAME
    return long and is_secret_name(word[2:]) and not following.startswith("-") and in_clear(following)


def _password(command: Command, word: str, following: str, *, asked: bool) -> str | None:
    """Return the password that is written out behind an option by which this program takes one; None without it.

    Unless `asked`, its options for a password mean something else: those of `docker run` are no `docker login`'s.
    """
    program = command.program
    if (login := _value(word, following, _LOGIN.get(program, ()))) is not None:
        user, _, password = login.partition("%" if program in _OF_SAMBA else ":")
        return password if in_clear(user, shortest=1) and in_clear(password, shortest=1) else None
    if not asked:
        return None
    if program == "openssl" and word in _OF_OPENSSL:
        password = following.removeprefix("pass:") if following.startswith("pass:") else ""
    elif program in _EXACTLY:
        password = following if word in _EXACTLY[program] else ""
    elif program in _PACKING:
        password = word[2:] if word.startswith("-p") else ""
    else:
        password = _value(word, following, _PASSWORD.get(program, ())) or ""
    return password if in_clear(password, shortest=3) else None


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


def _reads_secret(command: Command) -> str | None:
    """Return the program that reads a secret from the command's input; None where none does."""
    if command.program in _READING or not _ASKED_TO_READ.isdisjoint(command.words):
        return command.program
    if command.program == "cryptsetup" and _asks_input(command):
        return command.program
    if command.program in ("gpg", "gpg2") and ("--passphrase-fd=0" in command.words or _follows(command, "0")):
        return command.program
    if command.program == "openssl" and _follows(command, "stdin"):
        return command.program
    asked = command.words[1:] if command.program == "sudo" else command.given if "sudo" in command.wrappers else ()
    return "sudo" if any(_FROM_STDIN.fullmatch(word) for word in asked) else None


def _asks_input(command: Command) -> bool:
    """Return whether cryptsetup reads a passphrase from its input, as it does where no file is named."""
    if "-" in command.words or "--key-file=-" in command.words:
        return True
    return command.plain[:1] != () and command.plain[0] in _OF_CRYPTSETUP and not command.has("--key-file", "-d")


def _follows(command: Command, value: str) -> bool:
    """Return whether an option that tells where a password comes from has this value."""
    options = _OF_OPENSSL | {"--passphrase-fd"}
    return any(word == value and before in options for before, word in pairwise(command.words))
