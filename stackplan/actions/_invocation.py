"""A program's words, some of which people and other users of the node must not see, and the stage that starts it."""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import field

from stackplan.model.arguments import Value
from stackplan.model.frozen import dataclass
from stackplan.model.job import Command, Stage, Task
from stackplan.model.secret import Text


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command line: what is `given` to the program and what is `shown` to people.

    `file` None: the text itself is given. Otherwise the program gets the path of a file that holds this text and is
    nowhere on disk. `given` None without a `file`: the program gets it another way (its environment); only shown.
    """

    shown: str
    given: str | None = None
    file: Text | None = None


def words(*texts: str) -> tuple[Word, ...]:
    """Return words that are given as they are shown, quoted where a shell would need it."""
    return tuple(Word(shlex.quote(text), text) for text in texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One start of one program."""

    line: tuple[Word, ...]
    environment: Mapping[str, Text] = field(default_factory=dict)
    drop_environment: tuple[str, ...] = ()
    stdin: Text | None = None
    cwd: str | None = None

    @property
    def display(self) -> str:
        return " ".join(word.shown for word in self.line)

    def stage(self) -> Stage:
        """Return the stage that starts it: a plain command, or the task `program` where a word is a file in memory."""
        if all(word.file is None for word in self.line):
            return Command(
                argv=tuple(word.given for word in self.line if word.given is not None),
                display=self.display,
                environment=self.environment,
                drop_environment=self.drop_environment,
                stdin=self.stdin,
                cwd=self.cwd,
            )
        return Task(kind="program", arguments=self.plain(), display=self.display)

    def plain(self) -> dict[str, Value]:
        """Return it as arguments of a task or a query, files in memory as `{"file": text}`."""
        argv: list[Value] = []
        for word in self.line:
            if word.file is not None:
                argv.append({"file": word.file})
            elif word.given is not None:
                argv.append(word.given)
        return {
            "argv": tuple(argv),
            "environment": dict(self.environment),
            "drop_environment": self.drop_environment,
            "stdin": self.stdin,
            "cwd": self.cwd,
        }


def listing(names: Iterable[str], most: int = 4) -> str:
    """Return names for a line of text, cut after `most`: `torch, torchvision and 3 more`."""
    found = list(names)
    if len(found) <= most:
        return ", ".join(found)
    return f"{', '.join(found[: most - 1])} and {len(found) - most + 1} more"
