"""Every way in which a step sets a variable: its `env`, a command of its script, a line of a file that it writes.

env: {A: "1"}    A=1 cmd    env A=1 cmd    export A=1    systemctl set-environment A=1    docker run -e A=1 image
echo 'export A=1' >> ~/.profile    Environment="A=1" "B=2"    setenv A 1    A: "1"    os.environ["A"] = "1"
"""

import re
from collections.abc import Iterator

from stackplan.language.lint._handed import python_text
from stackplan.language.lint._shell import Command
from stackplan.model.frozen import dataclass
from stackplan.model.location import Location
from stackplan.model.regular import regular
from stackplan.model.secret import Text

DECLARING = frozenset({"export", "declare", "typeset", "local", "readonly"})
_ASSIGNED = regular(r"(?P<name>[A-Za-z_]\w*)\+?=(?P<value>.*)", re.DOTALL)
_IN_LINE = regular(r"(?:^|(?<=[\s\"']))(?P<name>[A-Za-z_]\w*)\+?=(?P<value>\"[^\"]*\"|'[^']*'|[^\s\"']*)")
_MAPPED = regular(r"\s*(?:- )?[\"']?(?P<name>[A-Za-z_]\w*)[\"']?\s*:\s+(?P<value>\S.*)")
_LISTED = regular(
    r"(?m)^[ \t]*(?:-[ \t]+)?name:[ \t]*[\"']?(?P<name>[A-Za-z_]\w*)[\"']?[ \t]*\n[ \t]*value:[ \t]*(?P<value>\S.*)"
)
_SET = regular(r"\s*(?:setenv|set -gx|set -Ux|PassEnvironment) (?P<name>[A-Za-z_]\w*)\s+(?P<value>.+)")
_PYTHON = regular(
    r"(?:environ\[|environ\.setdefault\(|putenv\()\s*[\"'](?P<name>\w+)[\"']\s*[\],]\s*=?\s*(?P<value>\S.*)"
)
_UNIT = regular(r"\s*(?:Environment|DefaultEnvironment)=")
_STARTING = frozenset({"docker", "podman", "nerdctl", "srun", "sbatch", "apptainer", "singularity"})
_COPYING = frozenset({"cat", "tee", "sponge", "dd", "install"})
_PRINTING = frozenset({"echo", "printf"})
_COMMENT = ("#", ";", "//")


@dataclass(frozen=True, slots=True)
class Setting:
    """A variable that is set: `value` without its quotes, a Secret where a secret stands in it."""

    name: str
    value: Text
    at: Location


def of_command(command: Command) -> Iterator[tuple[str, str]]:
    """Yield the variables that a command sets, with their values: for itself, for its shell, for what it starts."""
    for word in (*command.assignments, *_assigning(command)):
        if match := _ASSIGNED.fullmatch(word):
            yield match["name"], match["value"]
    if command.program == "setenv":
        yield from zip(command.words[1:2], command.words[2:3], strict=False)
    for text in _texts(command):
        yield from ((name, value) for name, value, _ in in_text(text))


def _assigning(command: Command) -> Iterator[str]:
    """Yield the words of a command that have the form NAME=VALUE, or might have."""
    program, words = command.program, command.words[1:]
    if program in DECLARING or (program == "systemctl" and "set-environment" in words):
        yield from words
    elif program in _STARTING:
        for option, word in zip(command.words, words, strict=False):
            if option in ("-e", "--env", "--setenv", "--export"):
                yield word
            elif word.startswith(("--env=", "--setenv=")):
                yield word.partition("=")[2]


def _texts(command: Command) -> Iterator[str]:
    """Yield the texts that a command writes into a file or runs as Python."""
    if command.program in _PRINTING and (command.redirections or command.after in ("|", "|&")):
        yield from (word.replace("\\n", "\n") for word in command.words[1:])
    elif command.program.startswith("python"):
        yield python_text(command)
    elif command.stdin is not None and command.program in _COPYING:
        yield command.stdin[0]


def in_text(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield what the lines of a text set, as profiles, units, dotenv files, YAML, JSON and Python say it, and where."""
    offset = 0
    for line in text.splitlines(keepends=True):
        if ("=" in line or ":" in line or "env" in line) and not line.lstrip().startswith(_COMMENT):
            # Behind the key of a unit its words begin.
            unit = match.end() if (match := _UNIT.match(line)) else 0
            for match in _in_line(line[unit:]):
                yield match["name"], _bare(match["value"]), offset + unit + match.start("name")
        offset += len(line)
    if "value:" in text:
        yield from ((it["name"], _bare(it["value"]), it.start("name")) for it in _LISTED.finditer(text))


def _in_line(line: str) -> Iterator[re.Match[str]]:
    found = list(_IN_LINE.finditer(line))
    one = None if found else _MAPPED.match(line) or _SET.match(line)
    yield from (*found, *([one] if one else []), *_PYTHON.finditer(line))


def _bare(text: str) -> str:
    """Return a value without its quotes, and what closes the line behind it."""
    text = text.strip().rstrip(",)")
    return text[1:-1] if len(text) > 1 and text[0] in "\"'" and text[-1] == text[0] else text
