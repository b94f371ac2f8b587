"""Where the commands of a script stand in the file that it was written in."""

from bisect import bisect_right
from collections.abc import Mapping
from itertools import accumulate

from stackplan.language.lint._shell import Command, read, read_arguments
from stackplan.language.lint._tree import Block, flat, groups
from stackplan.model.cached import cached_property
from stackplan.model.location import Location

_LONGEST_LINE = 20_000
"""So far a text is looked for in a line; nobody reads where it stands behind that."""
Sources = Mapping[str, tuple[str, ...]]


class Script:
    """A text for a shell, written at a place of a file; its commands are read when they are first asked for."""

    def __init__(self, text: str, at: Location, sources: Sources) -> None:
        self.text = text
        self.at = at
        self._sources = sources
        self._indentations: dict[int, int] = {}

    @classmethod
    def of(cls, argv: tuple[str, ...], at: Location, sources: Sources) -> "Script":
        """Return the script of an argument list, which is one command."""
        script = cls(" ".join(argv), at, sources)
        script.__dict__["block"] = read_arguments(argv)
        return script

    def mentions(self, *marks: str) -> bool:
        """Return whether one of some texts stands in it at all: most scripts have nothing that a rule is about."""
        return any(it in self.text for it in marks)

    @cached_property
    def block(self) -> Block:
        return read(self.text)

    @cached_property
    def commands(self) -> tuple[Command, ...]:
        return tuple(flat(self.block))

    @cached_property
    def variables(self) -> frozenset[str]:
        """The names of the variables that any of its commands looks at, or a `case` or `for`."""
        found = {name for command in self.commands for name in command.variables}
        if self.mentions("case", "for"):
            found.update(*(it.variables for it in groups(self.block)))
        return frozenset(found)

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def _starts(self) -> list[int]:
        """The offset of each line, and of what would follow the last."""
        return list(accumulate((len(line) + 1 for line in self._lines), initial=0))

    def place(self, command: Command) -> Location:
        """Return where a command stands in the file, or where the text begins when that cannot be told."""
        return self.place_at(command.start)

    def place_at(self, offset: int) -> Location:
        """Return where the text's character at `offset` stands in the file, or where the text begins."""
        lines = self._sources.get(self.at.path, ())
        if self.at.line > len(lines):
            return self.at
        if not lines[self.at.line - 1].startswith("|", self.at.column - 1):
            return place_of(self.text[offset : offset + 12].split("\n")[0], self.at, self._sources)
        below = bisect_right(self._starts, offset, hi=len(self._lines)) - 1
        number = self.at.line + below + 1
        if number > len(lines):
            return self.at
        if below not in self._indentations:
            self._indentations[below] = _indented(lines[number - 1], self._lines[below])
        return Location(self.at.path, number, self._indentations[below] + offset - self._starts[below] + 1)


def _indented(line: str, own: str) -> int:
    """Return by how much the block is indented, from a line of it as it stands in the file and in the text.

    A template may have made the text longer or shorter.
    """
    if "{{" not in line:
        return max(0, len(line.rstrip()) - len(own.rstrip()))
    return max(0, len(line) - len(line.lstrip()) - (len(own) - len(own.lstrip())))


def place_of(text: str, at: Location, sources: Sources) -> Location:
    """Return where `text` stands on the line of `at`, behind it; `at` when it does not."""
    lines = sources.get(at.path, ())
    if not text or at.line > len(lines):
        return at
    column = lines[at.line - 1].find(text, at.column - 1, at.column + _LONGEST_LINE)
    return at if column < 0 else Location(at.path, at.line, column + 1)
