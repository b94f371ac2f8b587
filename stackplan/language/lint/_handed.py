"""The texts and commands that a command hands on: `sh -c TEXT`, `su - ops -c TEXT`, `bash <<EOF`, `find -exec …`."""

import ast
import re
import shlex
from collections.abc import Iterator

from stackplan.language.lint._elsewhere import carried, reads_input
from stackplan.language.lint._launched import job_options, launched, repeated
from stackplan.language.lint._tree import Command
from stackplan.model.frozen import dataclass
from stackplan.model.regular import regular

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash"})
_EXECUTING = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_OF_SYSTEM = regular(
    r"\b(?:os\.(?:system|popen)|(?:subprocess\.)?(?:run|call|check_call|check_output|Popen|getoutput))\(\s*"
    r"(?P<told>\[[^\]]*\]|[rbuf]?(?P<quote>['\"]).*?(?<!\\)(?P=quote))"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """A text for a shell, or the words of a command; `at` is its offset in the script, None where that is not known.

    `elsewhere` and `remote` as of a command.
    """

    text: str = ""
    words: tuple[str, ...] = ()
    at: int | None = None
    errexit: bool = False
    pipefail: bool = False
    user: str | None = None
    elsewhere: bool = False
    remote: bool = False


def handed(command: Command) -> Iterator[Handed]:
    """Yield what a command hands to a shell, or to another program that it starts."""
    program, words = command.program, command.words
    if program in SHELLS:
        yield from _to_shell(command)
    elif program in ("su", "runuser"):
        yield from _to_user(command)
    elif program == "eval":
        yield Handed(text=" ".join(words[1:]), errexit=command.errexit, pipefail=command.pipefail, user=command.user)
    elif program == "trap" and len(command.plain) > 1:
        yield Handed(text=command.plain[0], errexit=command.errexit, pipefail=command.pipefail, user=command.user)
    elif program == "watch":
        yield Handed(text=" ".join(command.plain), user=command.user)
    elif program == "script" and "-c" in words[:-1]:
        yield Handed(text=words[words.index("-c") + 1], user=command.user)
    elif (text := repeated(command)) is not None:
        yield Handed(text=text, user=command.user)
    elif program in ("at", "batch"):
        yield from _from_stdin(command, command.user)
    else:
        yield from _to_program(command)


def _to_program(command: Command) -> Iterator[Handed]:
    """Yield the commands that a command starts, here or elsewhere."""
    program, words = command.program, command.words
    if program == "find":
        yield from (Handed(words=it, user=command.user) for it in _executed(words))
    elif program.startswith("python") and (text := python_text(command)):
        yield from _of_python(text, command.user)
    elif program == "sshpass" and "ssh" in words:
        yield Handed(words=words[words.index("ssh") :])
    elif (told := carried(command) or launched(command)) is not None:
        yield Handed(text=told.text, words=told.words, remote=told.machine, elsewhere=not told.machine)
    elif command.stdin is not None and reads_input(command):
        text, at = command.stdin
        yield Handed(text=text, at=at, remote=True)
    elif (options := job_options(command)) is not None and command.stdin is not None:
        text, at = command.stdin
        errexit = any(re.fullmatch(r"-[a-z]*e[a-z]*", it) for it in options.split())
        yield Handed(text=text, at=at, errexit=errexit, pipefail="pipefail" in options, remote=True)


def _to_shell(command: Command) -> Iterator[Handed]:
    errexit = pipefail = asked = False
    words = list(command.words[1:])
    while words and (words[0].startswith(("-", "+")) and words[0] != "-"):
        option = words.pop(0)
        if option.startswith("--"):
            if option in ("--rcfile", "--init-file") and words:
                words.pop(0)
            continue
        on = option.startswith("-")
        asked = asked or (on and "c" in option)
        if "e" in option[1:]:
            errexit = on
        if option.endswith("o") and words:
            name = words.pop(0)
            errexit = on if name == "errexit" else errexit
            pipefail = on if name == "pipefail" else pipefail
        if "s" in option[1:] and not asked:
            words = []
    if asked:
        if words:
            yield Handed(text=words[0], errexit=errexit, pipefail=pipefail, user=command.user)
    elif not words or words[0] in ("-", "/dev/stdin"):
        yield from _from_stdin(command, command.user, errexit=errexit, pipefail=pipefail)


def _to_user(command: Command) -> Iterator[Handed]:
    """Read `su [-] [USER] [-c TEXT]`, whose options may stand behind the user as well."""
    text, user, words = None, "", list(command.words[1:])
    while words:
        word = words.pop(0)
        if word in ("-c", "--command", "-lc") and words:
            text = words.pop(0)
        elif word.startswith("--command="):
            text = word.partition("=")[2]
        elif word in ("-s", "--shell", "-g", "--group", "-G", "-w") and words:
            words.pop(0)
        elif not word.startswith("-"):
            user = user or word
    if text is None:
        yield from _from_stdin(command, user or "root")
    else:
        yield Handed(text=text, user=user or "root")


def _from_stdin(
    command: Command, user: str | None, *, errexit: bool = False, pipefail: bool = False
) -> Iterator[Handed]:
    if command.stdin is not None:
        text, at = command.stdin
        yield Handed(text=text, at=at, errexit=errexit, pipefail=pipefail, user=user)


def printed(command: Command) -> tuple[str, int | None] | None:
    """Return the text that echo, printf or cat gives to what reads its output; None where none is known."""
    if command.program in ("echo", "printf"):
        return " ".join(word for word in command.words[1:] if word not in ("-e", "-n", "-en")).replace(
            "\\n", "\n"
        ), None
    return command.stdin if command.program == "cat" and not command.plain else None


def _executed(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the commands of find's `-exec COMMAND ;` and its like; one that stands within another is that one's."""
    at = 0
    while at < len(words):
        at += 1
        if words[at - 1] in _EXECUTING:
            end = next((n for n in range(at, len(words)) if words[n] in (";", "+")), len(words))
            yield words[at:end]
            at = end


def python_text(command: Command) -> str:
    """Return the program that a Python is given with `-c` or on its standard input; "" where there is none."""
    if not command.program.startswith(("python", "pypy")):
        return ""
    words = command.words
    for at, word in enumerate(words[1:-1], 1):
        if re.fullmatch(r"-[A-Za-z]*c", word):
            return words[at + 1]
    if command.stdin is not None and all(word == "-" or word.startswith("-") for word in words[1:]):
        return "" if "-m" in words else command.stdin[0]
    return ""


def _of_python(text: str, user: str | None) -> Iterator[Handed]:
    for match in _OF_SYSTEM.finditer(text):
        try:
            told = ast.literal_eval(match["told"].lstrip("rbuf") if match["quote"] else match["told"])
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        if isinstance(told, str):
            yield Handed(text=told, user=user)
        elif isinstance(told, list) and told and all(isinstance(it, str) for it in told):
            yield Handed(text=shlex.join(told), user=user)
