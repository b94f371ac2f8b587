"""The words of a shell text: quotes taken off, and what variables hold put in their place where it is plain text."""

from abc import ABC, abstractmethod
from dataclasses import field

from stackplan.language.lint._scanner import Scanner
from stackplan.language.lint._tree import Block, Command
from stackplan.language.lint._wrappers import ASSIGNMENT
from stackplan.model.frozen import dataclass
from stackplan.model.regular import regular

DEEPEST = 5
"""How far substitutions are gone into."""

ORDINARY = regular(r"[^\s\\'\"`$<>;|&(){}]+")
_BARE = regular(rf"{ORDINARY.pattern}(?=[ \t\n;|&]|$)")
"""A word in which nothing has to be looked at, as most are."""
_LINE = regular(r"(?:(?!#)[^\s\\'\"`$<>;|&(){}]++[ \t]*+)++(?=[\n;]|\Z)")
"""Nothing but such words up to the end of the line, or to a `;`."""
_QUOTED = regular(r"[^\"\\`$<>{]+")
_VARIABLE = regular(r"\$(?:(?P<name>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)(?::?-(?P<default>[^${}]*))?\})")
_ARRAY = regular(r"\"?\$\{(?P<name>[A-Za-z_]\w*)\[[@*]\]\}\"?(?=[\s;|&()<>]|$)")
_LITERAL = regular(r"(?P<name>[A-Za-z_]\w*)=(?P<value>(?:[^$`*?]|\$[A-Za-z_]\w*|\$\{[A-Za-z_]\w*\})*)")
"""A value that is plain text, other variables in it as they are: `$HOME/ml-env/bin/pip` is a pip, wherever it is."""
_ESCAPED = '$`"\\'
_LONGEST_VALUE = 4096
"""A script may double a text with every line."""


@dataclass
class Words(Scanner, ABC):
    """A place in a text, and what is known there; `base` is where the text stands in the script.

    `fixed` when offsets inside of it mean nothing there. `lent` when `values` are those of another block, which goes
    on with them: what is changed is changed in a copy.
    """

    base: int
    depth: int
    pipefail: bool
    errexit: bool
    fixed: bool = False
    user: str | None = None
    elsewhere: bool = False
    remote: bool = False
    values: dict[str, str] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    by_functions: set[str] = field(default_factory=set)
    """The variables that functions set, which may hold either when one of them has run."""
    in_functions: int = 0
    own: set[str] = field(default_factory=set)
    """The variables that the function being read has for itself."""
    lent: bool = False

    @abstractmethod
    def _substitution(self, opening: str) -> Block:
        """Read what stands behind `$(`, `<(`, `>(` or a backquote, up to its end, as commands."""

    def _place(self, start: int) -> int:
        return self.base if self.fixed else self.base + start

    def _word(self, inner: list[Block], *, first: bool = False) -> tuple[str, list[str] | None]:
        """Return the next word without its quotes; and the words that it falls into, when it is a known variable."""
        if bare := _BARE.match(self.text, self.at):
            self.at = bare.end()
            return bare[0], None
        if (value := self._known(first=first)) is not None:
            return value, value.split()
        start, parts = self.at, list[str]()
        while self.at < len(self.text) and (piece := self._piece(parts, inner)) is not None:
            parts.append(piece)
        if self.at == start:
            self.at += 1
        return "".join(parts), None

    def _plain_line(self) -> list[str]:
        """Take the words up to the end of the line or a `;`, where nothing has to be looked at in any of them."""
        match = _LINE.match(self.text, self.at)
        if match is None:
            return []
        self.at = match.end()
        return match[0].split()

    def _piece(self, before: list[str], inner: list[Block]) -> str | None:
        """Return the next piece of a word without its quotes; None where the word ends."""
        start, char = self.at, self.text[self.at]
        if ordinary := ORDINARY.match(self.text, start):
            self.at = ordinary.end()
            return ordinary[0]
        if char in " \t\n;|&()<>" and not self.text.startswith(("<(", ">("), start):
            if char != "(" or not ASSIGNMENT.fullmatch("".join(before)):
                return None
            # An array.
            self.at = self.closing(start, "(")
            return self.text[start : self.at]
        if char == "\\":
            self.at += 2
            return self.text[start + 1 : self.at].replace("\n", "")
        if char == "'":
            return self._single_quoted()
        return self._double_quoted(inner) if char == '"' else self._plain(inner)

    def _known(self, *, first: bool) -> str | None:
        """Return what the variable that is the whole next word holds; of a program also what it is by default."""
        if array := _ARRAY.match(self.text, self.at):
            held = self.values.get(array["name"], "")
            self.at = array.end() if held.startswith("(") else self.at
            return held[1:-1] if held.startswith("(") else None
        match = _VARIABLE.match(self.text, self.at)
        if match is None or self.text[match.end() : match.end() + 1] not in ("", *" \t\n;|&()<>"):
            return None
        value = self.values.get(match["name"] or match["braced"], match["default"] if first else None)
        if value is None or "{{" in value:
            # A template is one word, whatever stands in it.
            return None
        self.at = match.end()
        return value

    def _single_quoted(self) -> str:
        end = self.text.find("'", self.at + 1)
        start, end = self.at + 1, len(self.text) if end < 0 else end
        self.at = end + 1
        return self.text[start:end]

    def _double_quoted(self, inner: list[Block]) -> str:
        parts: list[str] = []
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] != '"':
            if self.text[self.at] == "\\":
                escaped = self.text[self.at + 1 : self.at + 2]
                # Between these quotes a backslash stands for itself before anything else: `"\n"` are two characters.
                parts.append("" if escaped == "\n" else escaped if escaped in _ESCAPED else f"\\{escaped}")
                self.at += 2
            elif quoted := _QUOTED.match(self.text, self.at):
                parts.append(quoted[0])
                self.at = quoted.end()
            else:
                parts.append(self._plain(inner))
        self.at += 1
        return "".join(parts)

    def _plain(self, inner: list[Block]) -> str:
        """Return the next character, or the substitution that begins here, as it is written."""
        start = self.at
        if self.text.startswith("{{", start) and (end := self.text.find("}}", start)) >= 0:
            self.at = end + 2
            return self.text[start : self.at]
        if match := _VARIABLE.match(self.text, start):
            self.at = match.end()
            known = self.values.get(match["name"] or match["braced"])
            return match[0] if known is None else known
        for opening in ("$((", "$(", "<(", ">(", "${", "`"):
            if self.text.startswith(opening, start):
                if self.depth >= DEEPEST or opening not in ("$(", "<(", ">(", "`"):
                    self.at = self.closing(start, opening)
                else:
                    inner.append(self._substitution(opening))
                return self.text[start : self.at]
        self.at += 1
        return self.text[start]

    def _take_values(self, command: Command) -> None:
        """Note what variables hold, where that is plain text: their users are then read as if it stood there."""
        if command.words and command.program not in ("export", "readonly", "declare", "local"):
            return
        if self.in_functions and command.program in ("declare", "local"):
            self.own |= {word.partition("=")[0].rstrip("+") for word in command.words[1:]}
        for word in (*command.assignments, *command.words[1:]):
            if not (match := ASSIGNMENT.match(word)):
                continue
            name, value = match[0].rstrip("+="), _LITERAL.fullmatch(word)
            if self.in_functions and name not in self.own:
                self.by_functions.add(name)
            elif name in self.by_functions:
                self.unknown.add(name)
            # What is set twice, or only where something failed, may hold either.
            twice = self._hold(name, None)
            if value is None or len(word) > _LONGEST_VALUE or twice is not None or self.before in ("||", "&&"):
                self.unknown.add(name)
            elif name not in self.unknown:
                self._hold(name, value["value"])

    def _hold(self, name: str, value: str | None) -> str | None:
        """Note what a variable holds, None where that is not known, and return what it held."""
        if self.lent and not (value is None and name not in self.values):
            self.values, self.lent = dict(self.values), False
        before = self.values.pop(name, None)
        if value is not None:
            self.values[name] = value
        return before

    def _take_paths(self, name: str, words: list[str]) -> None:
        """Note what the variable of a loop holds where those are paths: what is done to it is done to each of them."""
        self._hold(name, None)
        if words and all("/" in word and "$" not in word and "`" not in word for word in words):
            self._hold(name, " ".join(words))
