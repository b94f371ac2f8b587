"""Shell text as simple commands: enough of bash's grammar to tell a command from a word, a quote and a comment.

    install() { pip install x || true; }   # comment
    curl -fsS "$url" | tee log && sh -c 'echo a | grep b'

gives `pip install x` (followed by `||`), `true`, `curl …` (followed by `|`), `tee log`, `sh -c …`, and of the text
that `sh -c` runs, `echo a` and `grep b`. Substitutions are gone into; here-documents and arithmetic are passed over.
Text that is no shell gives some commands or none, never an exception. docs/decisions says why no library does it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

_OPERATORS = ("&&", "||", ";;", "|&", "|", ";", "&", "\n", "(", ")")
_REDIRECTIONS = re.compile(r"(?:\d*|&|\{\w+\})(?:>>|>\||>&|<&|<>|>|<<<|<<-|<<|<)|&>>|&>")
_ORDINARY = re.compile(r"[^\s\\'\"`$<>;|&(){}]+")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_OPENING = frozenset({"if", "elif", "while", "until", "then", "else", "do", "{", "!", "time"})
_TESTING = frozenset({"if", "elif", "while", "until"})
_CLOSING = frozenset({"fi", "done", "}", "esac"})
_WRAPPERS = {
    "sudo": frozenset("ugpCcrthDRUT"),
    "env": frozenset("uCS"),
    "timeout": frozenset("ks"),
    "nice": frozenset("n"),
    "ionice": frozenset("cn"),
    "nohup": frozenset[str](),
    "exec": frozenset("a"),
    "command": frozenset[str](),
    "time": frozenset[str](),
    "setsid": frozenset[str](),
}
"""Programs that run the program that follows, with those of their options that take a value of their own."""
_SHELLS = frozenset({"sh", "bash", "dash", "zsh"})
DEEPEST = 5


@dataclass(frozen=True)
class Command:
    """One simple command; `start` is its offset in the script.

    `before` and `after` are the operators around it, "" at either end of a text. `tested` when an `if` or `while` asks
    for its status. `depth` counts the substitutions and `sh -c` texts around it; `pipefail` is False in a shell that
    stackplan's own options do not reach.
    """

    words: tuple[str, ...]
    start: int
    before: str = ""
    after: str = ""
    tested: bool = False
    depth: int = 0
    pipefail: bool = True
    redirections: tuple[tuple[str, str], ...] = ()
    wrappers: tuple[str, ...] = ()
    assignments: tuple[str, ...] = ()

    @cached_property
    def program(self) -> str:
        """The name of the program without its folder; "" of a command that only assigns."""
        return self.words[0].rpartition("/")[2] if self.words else ""

    @cached_property
    def text(self) -> str:
        return " ".join((*self.assignments, *self.wrappers, *self.words))

    def has(self, *options: str) -> bool:
        """Return whether one of the options is given, alone or with a value behind `=`."""
        return any(word == it or word.startswith(f"{it}=") for word in self.words for it in options)

    def starts(self, *words: str) -> bool:
        """Return whether the command is `words[0]` with the others as its first words that are no options."""
        if self.program != words[0]:
            return False
        plain = [word for word in self.words[1:] if not word.startswith("-")]
        return tuple(plain[: len(words) - 1]) == words[1:]


def commands(text: str, *, pipefail: bool = True) -> tuple[Command, ...]:
    """Return all simple commands of a shell text, in its order, each followed by those inside of it."""
    return tuple(_Reader(text, 0, 0, pipefail).read())


def command_of(argv: tuple[str, ...]) -> tuple[Command, ...]:
    """Return the command of an argument list, and those of the text that it hands to a shell."""
    command = unwrapped(Command(argv, 0))
    return (command, *_handed(command, 0))


def unwrapped(command: Command) -> Command:
    """Return the command without what stands before the program that is meant: assignments, sudo, env, timeout."""
    if not command.words or not (
        command.words[0].rpartition("/")[2] in _WRAPPERS or _ASSIGNMENT.match(command.words[0])
    ):
        return command
    words = list(command.words)
    assignments, wrappers = list(command.assignments), list(command.wrappers)
    while words:
        name = words[0].rpartition("/")[2]
        if _ASSIGNMENT.match(words[0]):
            assignments.append(words.pop(0))
        elif name in _WRAPPERS and len(words) > 1:
            wrappers.append(name)
            words.pop(0)
            while words and words[0].startswith("-"):
                option = words.pop(0)
                if option == "--":
                    break
                if len(option) == 2 and option[1] in _WRAPPERS[name] and words:
                    words.pop(0)
            if name == "timeout" and words:
                words.pop(0)
        else:
            break
    return replace(command, words=tuple(words), assignments=tuple(assignments), wrappers=tuple(wrappers))


def _handed(command: Command, start: int) -> Iterator[Command]:
    """Yield the commands of the text that a command hands to a shell: `sh -c TEXT`, `eval TEXT`."""
    if command.depth >= DEEPEST:
        return
    flags = next((at for at, word in enumerate(command.words[1:], 1) if re.fullmatch(r"-[a-z]*c", word)), None)
    if command.program in _SHELLS and flags is not None and flags + 1 < len(command.words):
        strict = "pipefail" in command.words[1:flags]
        yield from _Reader(command.words[flags + 1], start, command.depth + 1, strict, fixed=True).read()
    elif command.program == "eval":
        yield from _Reader(" ".join(command.words[1:]), start, command.depth + 1, command.pipefail, fixed=True).read()


@dataclass
class _Reader:
    """Reads one text; `base` is where it stands in the script, `fixed` when offsets inside of it mean nothing there."""

    text: str
    base: int
    depth: int
    pipefail: bool
    fixed: bool = False
    _at: int = 0
    _heredocs: list[tuple[str, bool]] = field(default_factory=list)

    def read(self) -> Iterator[Command]:
        before, tested = "", False
        while self._at < len(self.text):
            found, inner = self._command(before, tested=tested)
            operator = self._operator()
            if operator == "\n":
                self._skip_heredocs()
            if found is not None:
                kept = found.words or found.assignments or found.redirections
                if kept:
                    if found.program == "set":
                        self._take_options(found)
                    yield replace(found, after=operator, pipefail=self.pipefail)
                    yield from _handed(found, found.start)
                tested = found.tested and operator in ("|", "&&", "||")
            yield from inner
            before = operator

    def _take_options(self, command: Command) -> None:
        for sign, word in zip(command.words, command.words[1:], strict=False):
            if word == "pipefail":
                self.pipefail = sign.startswith("-")

    def _operator(self) -> str:
        for operator in _OPERATORS:
            if self.text.startswith(operator, self._at):
                self._at += len(operator)
                return operator
        self._at += self._at < len(self.text)
        return ""

    def _command(self, before: str, *, tested: bool) -> tuple[Command | None, list[Command]]:
        words: list[str] = []
        inner: list[Command] = []
        redirections: list[tuple[str, str]] = []
        start: int | None = None
        while self._at < len(self.text):
            char = self.text[self._at]
            if char in " \t":
                self._at += 1
            elif self.text.startswith("\\\n", self._at):
                self._at += 2
            elif char == "#":
                end = self.text.find("\n", self._at)
                self._at = len(self.text) if end < 0 else end
            elif (
                char in "<>&0123456789{"
                and self.text[self._at + 1 : self._at + 2] != "("
                and (match := _REDIRECTIONS.match(self.text, self._at))
            ):
                self._at = match.end()
                self._redirect(match[0], redirections, inner)
            elif char in "&|;()\n":
                break
            else:
                at = self._at
                word, quoted = self._word(inner)
                if not words and not quoted and word in _OPENING | _CLOSING:
                    tested = tested or word in _TESTING
                    continue
                start = at if start is None else start
                words.append(word)
        if start is None and not redirections:
            return None, inner
        place = self.base if self.fixed else self.base + (start or 0)
        found = Command(
            tuple(words), place, before=before, tested=tested, depth=self.depth, redirections=tuple(redirections)
        )
        return unwrapped(found), inner

    def _redirect(self, operator: str, redirections: list[tuple[str, str]], inner: list[Command]) -> None:
        while self._at < len(self.text) and self.text[self._at] in " \t":
            self._at += 1
        target, _ = self._word(inner)
        if operator.lstrip("0123456789") in ("<<", "<<-"):
            self._heredocs.append((target, operator.endswith("-")))
        else:
            redirections.append((operator, target))

    def _skip_heredocs(self) -> None:
        for mark, tabs in self._heredocs:
            while self._at < len(self.text):
                end = self.text.find("\n", self._at)
                end = len(self.text) if end < 0 else end
                line = self.text[self._at : end]
                self._at = min(end + 1, len(self.text))
                if (line.lstrip("\t") if tabs else line) == mark:
                    break
        self._heredocs.clear()

    def _word(self, inner: list[Command]) -> tuple[str, bool]:
        """Return the next word without its quotes, and whether any part of it was quoted."""
        parts: list[str] = []
        quoted = False
        while self._at < len(self.text):
            if ordinary := _ORDINARY.match(self.text, self._at):
                parts.append(ordinary[0])
                self._at = ordinary.end()
                continue
            char = self.text[self._at]
            if char in " \t\n;|&()<>" and not self.text.startswith(("<(", ">("), self._at):
                break
            if char == "\\":
                parts.append(self.text[self._at + 1 : self._at + 2].replace("\n", ""))
                self._at += 2
            elif char == "'":
                end = self.text.find("'", self._at + 1)
                end = len(self.text) if end < 0 else end
                parts.append(self.text[self._at + 1 : end])
                self._at, quoted = end + 1, True
            elif char == '"':
                quoted = True
                parts.append(self._double_quoted(inner))
            elif self.text.startswith("{{", self._at) and "}}" in self.text[self._at :]:
                end = self.text.index("}}", self._at) + 2
                parts.append(self.text[self._at : end])
                self._at = end
            else:
                parts.append(self._plain(inner))
        return "".join(parts), quoted

    def _double_quoted(self, inner: list[Command]) -> str:
        parts: list[str] = []
        self._at += 1
        while self._at < len(self.text) and self.text[self._at] != '"':
            if self.text[self._at] == "\\":
                parts.append(self.text[self._at + 1 : self._at + 2])
                self._at += 2
            else:
                parts.append(self._plain(inner))
        self._at += 1
        return "".join(parts)

    def _plain(self, inner: list[Command]) -> str:
        """Return the next character, or the substitution that begins here, as it is written."""
        start = self._at
        for opening in ("$((", "$(", "<(", ">(", "${", "`"):
            if self.text.startswith(opening, start):
                self._at = end = self._closing(start, opening)
                if opening in ("$(", "<(", ">(", "`") and self.depth < DEEPEST:
                    within = self.text[start + len(opening) : end - 1]
                    reader = _Reader(within, self.base + start + len(opening), self.depth + 1, self.pipefail)
                    inner.extend(reader.read())
                return self.text[start:end]
        self._at += 1
        return self.text[start]

    def _closing(self, start: int, opening: str) -> int:
        """Return the offset behind the end of a substitution; the text's end where it has none."""
        if opening == "`":
            end = self.text.find("`", start + 1)
            return len(self.text) if end < 0 else end + 1
        pair = "{}" if opening == "${" else "()"
        depth, at, quote = 0, start, ""
        while at < len(self.text):
            char = self.text[at]
            if char == "\\":
                at += 1
            elif quote:
                quote = "" if char == quote else quote
            elif char in "'\"":
                quote = char
            elif char in pair:
                depth += 1 if char == pair[0] else -1
                if depth == 0:
                    return at + 1
            at += 1
        return len(self.text)
