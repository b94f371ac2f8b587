"""Secrets by their place among a command's words: `wandb login KEY`, `aws configure set NAME X`, `openssl passwd X`."""

from collections.abc import Iterator

from stackplan.language.lint._tree import Command
from stackplan.language.secret_name import in_clear, is_secret_name

_OF_VAULT = frozenset({"-no-print", "-no-store", "-token-only"})
"""Options of `vault login` that take no value."""
_BEFORE_VALUE = frozenset({"-salt", "-in", "-rand", "-provider"})
"""Options of `openssl passwd` that take the next word."""
_PROGRAMS = frozenset({"wandb", "vault", "mc", "mcli", "openssl"})


def by_place(command: Command) -> Iterator[tuple[str, str]]:
    """Yield what a command is given in clear without an option: what it is, and the secret itself."""
    if command.program in _PROGRAMS:
        yield from _of_program(command)
    elif "set" in command.plain[:3]:
        yield from _set(command.plain[command.plain.index("set") + 1 :])


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


def _set(words: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Look at what a setting of a program is set to: `aws configure set aws_secret_access_key X`."""
    name = words[0].rpartition(":")[2].lstrip("_") if len(words) > 1 else ""
    if is_secret_name(name) and in_clear(words[1]):
        yield f"the value of `{name}`", words[1]
