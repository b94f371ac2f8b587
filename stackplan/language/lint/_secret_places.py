"""Secrets by their place among a command's words: `wandb login KEY`, `aws configure set NAME X`, `openssl passwd X`.

Also those within a word that is a language of its own: SQL, and the JSON that a request sends.
"""

import re
from collections.abc import Iterator

from stackplan.language.lint._tree import Command
from stackplan.language.secret_name import in_clear, is_secret_name
from stackplan.model.regular import regular

_OF_VAULT = frozenset({"-no-print", "-no-store", "-token-only"})
"""Options of `vault login` that take no value."""
_BEFORE_VALUE = frozenset({"-salt", "-in", "-rand", "-provider"})
"""Options of `openssl passwd` that take the next word."""
_PROGRAMS = frozenset({"wandb", "vault", "mc", "mcli", "openssl", "htpasswd", "ipmitool"})
_OF_SQL = frozenset(
    {"mysql", "mariadb", "psql", "sqlcmd", "sqlplus", "clickhouse-client", "clickhouse", "cqlsh", "influx"}
)
_SENDING = frozenset({"curl", "wget", "http", "https", "xh"})
_GRANTED = regular(
    r"\b(?:IDENTIFIED\s+(?:WITH\s+\S+\s+)?(?:BY|AS)|PASSWORD(?:\s+FOR\s+\S+)?)\s*=?\s*(?:PASSWORD\s*\(\s*)?"
    r"(?P<quote>['\"])(?P<secret>[^'\"]+)(?P=quote)",
    re.IGNORECASE,
)
"""`ALTER USER x PASSWORD 'y'`, `CREATE USER x IDENTIFIED BY 'y'`, `SET PASSWORD FOR x = 'y'`."""
_MEMBER = regular(r"\"(?P<name>[A-Za-z][\w-]{0,60})\"\s*:\s*\"(?P<secret>[^\"]+)\"")
"""`{"UserName": "ops", "Password": "y"}`, as the accounts of a management controller are told."""


def by_place(command: Command) -> Iterator[tuple[str, str]]:
    """Yield what a command is given in clear without an option: what it is, and the secret itself."""
    if command.program in _PROGRAMS:
        yield from _of_program(command)
    elif command.program in _OF_SQL:
        for text in _texts(command, "password", "identified"):
            granted = (it["secret"] for it in _GRANTED.finditer(text))
            yield from (("a password in SQL", it) for it in granted if in_clear(it, shortest=3))
    elif command.program in _SENDING:
        for text in _texts(command, '":', '" :'):
            for it in _MEMBER.finditer(text):
                if (
                    is_secret_name(it["name"])
                    and in_clear(it["secret"], shortest=3)
                    and not _names_key(**it.groupdict())
                ):
                    yield f"the value of `{it['name']}`", it["secret"]
    elif "set" in command.plain[:3]:
        yield from _set(command.plain[command.plain.index("set") + 1 :])


def _names_key(name: str, secret: str) -> bool:
    """Return whether a member tells under which key a secret is kept: `"secretKey": "password"`."""
    return name.lower().replace("_", "") == "secretkey" and is_secret_name(secret)


def _of_program(command: Command) -> Iterator[tuple[str, str]]:
    words, plain = command.words, command.plain
    if command.starts("wandb", "login") and in_clear("".join(plain[1:2])):
        yield "the key given to `wandb login`", plain[1]
    elif command.starts("vault", "login") and words[-1] != "login" and in_clear(words[-1]):
        valued = words[-2].startswith("-") and "=" not in words[-2] and words[-2] not in _OF_VAULT
        if not (valued or words[-1].startswith("-") or "=" in words[-1]):
            yield "the token given to `vault login`", words[-1]
    elif plain[:2] == ("alias", "set") and len(plain) > 5 and in_clear(plain[5]):
        yield f"the key given to `{command.program} alias set`", plain[5]
    elif command.starts("openssl", "passwd") and len(plain) > 1 and words[-1] == plain[-1]:
        given = words[-2] not in _BEFORE_VALUE and in_clear(words[-1], shortest=3)
        yield from [("the password given to `openssl passwd`", words[-1])] if given else []
    elif command.program == "htpasswd" and command.has_flag("b"):
        # With -n it is told no file.
        if len(plain) > (1 if command.has_flag("n") else 2) and in_clear(plain[-1], shortest=3):
            yield "the password given to `htpasswd -b`", plain[-1]
    elif command.program == "ipmitool" and "password" in plain[1:-2]:
        at = plain.index("password")
        if plain[at - 1] == "set" and in_clear(plain[at + 2], shortest=3):
            yield "the password given to `ipmitool user set password`", plain[at + 2]


def _texts(command: Command, *marks: str) -> Iterator[str]:
    """Yield the words of a command, and what it reads, in which one of some texts in lower case stands."""
    read = (command.stdin[0],) if command.stdin is not None else ()
    for text in (*command.words[1:], *read):
        lower = text.lower()
        if any(it in lower for it in marks):
            yield text


def _set(words: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Look at what a setting of a program is set to: `aws configure set aws_secret_access_key X`."""
    name = words[0].rpartition(":")[2].lstrip("_") if len(words) > 1 else ""
    if is_secret_name(name) and in_clear(words[1]):
        yield f"the value of `{name}`", words[1]
