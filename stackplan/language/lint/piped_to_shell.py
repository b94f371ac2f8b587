"""A script from the web run as it comes."""

import re
from collections.abc import Iterator

from stackplan.language.lint._fetching import FETCHERS, MARKS, fetches
from stackplan.language.lint._handed import SHELLS, python_text
from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._shell import Command
from stackplan.language.lint._subject import Subject
from stackplan.language.lint._tree import Block, Pipeline, flat, pipelines, surface
from stackplan.model.regular import regular

_INTERPRETERS = regular(r"python[\d.]*|pypy[\d.]*|perl|ruby|node|php")
_EXECUTED = regular(r"\b(?:exec|eval)\(.*(?:urlopen|requests\.get|httpx\.get)|os\.system\(.*urlopen", re.DOTALL)
_ASSIGNED = regular(r"(\w+)=[\"']?[$`]")


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        assert step.script is not None
        if not step.script.mentions(*MARKS):
            continue
        brought = _brought(step.commands)
        for pipeline in pipelines(step.script.block):
            for it in _running(pipeline, brought):
                summary = "this runs whatever the address answers, also half of it when the connection breaks"
                remedy = "fetch it with `download` and its sha256, then run the file"
                yield Finding(summary, step.command_at(it), remedy, step.id)


def _brought(commands: tuple[Command, ...]) -> frozenset[str]:
    """Return the variables that hold what an address answered."""
    return frozenset(
        match[1]
        for it in commands
        if any(_fetching(block) for block in it.inner)
        for word in it.assignments
        if (match := _ASSIGNED.match(word))
    )


def _running(pipeline: Pipeline, brought: frozenset[str]) -> Iterator[Command]:
    fetching: Command | None = None
    for part in pipeline.parts:
        for it in surface(part):
            if fetching is not None and _reads_program(it):
                yield fetching
                return
            if _hands_over(it, brought):
                yield it
                return
        fetching = fetching or next((it for it in surface(part) if it.program in FETCHERS and fetches(it)), None)
    if fetching is not None and any(_through_arguments(it) for part in pipeline.parts for it in surface(part)):
        yield fetching


def _through_arguments(it: Command) -> bool:
    """Return whether xargs gives a shell its text: `curl … | xargs -0 sh -c`."""
    return "xargs" in it.wrappers and it.program in SHELLS and "-c" in it.words[-2:]


def _reads_program(it: Command) -> bool:
    """Return whether what is piped into a command is run by it, and not read by a program of its own."""
    plain = [word for word in it.plain if word != "-"]
    if it.program in SHELLS:
        flagged = any(re.fullmatch(r"-[a-zA-Z]*s", word) for word in it.words[1:])
        texted = any(re.fullmatch(r"-[a-z]*c", word) for word in it.words)
        return flagged or (not texted and (not plain or "/dev/stdin" in plain))
    if it.program in ("source", "."):
        return "/dev/stdin" in plain
    if it.program in ("at", "batch"):
        return "-f" not in it.words
    return (
        _INTERPRETERS.fullmatch(it.program) is not None
        and (not plain or plain[0] == "/dev/stdin" or "-" in it.words[1:2])
        and not any(re.match(r"-[a-zA-Z]*[cmneEp]", word) for word in it.words[1:])
    )


def _hands_over(it: Command, brought: frozenset[str]) -> bool:
    """Return whether a command is given as its program what a substitution in its words, or its input, fetches."""
    if (text := python_text(it)) and _EXECUTED.search(text):
        return True
    runs = it.program in SHELLS or it.program in ("source", ".", "eval") or _INTERPRETERS.fullmatch(it.program)
    if not runs or (it.program in SHELLS and it.plain and not any(re.match(r"[<$`\"]", word) for word in it.plain[:1])):
        return False
    if any(re.search(rf"\$\{{?(?:{'|'.join(brought)})\b", word) for word in it.words[1:] if brought):
        return True
    at_front = [word for word in it.words[1:] if re.match(r"\s*(?:<\(|\$\(|`)", word)]
    fed = [target for sign, target in it.redirections if sign in ("<", "<<<")]
    return bool(at_front or any(target.startswith(("<(", "$(", "`")) for target in fed)) and any(
        _fetching(block) for block in it.inner
    )


def _fetching(block: Block) -> bool:
    return any(it.program in FETCHERS and fetches(it) for it in flat(block))


RULE = error(
    "SP169",
    "a script from the web piped into a shell",
    "Nobody has seen what is run, it may be another text tomorrow, and a broken connection leaves a half script that "
    "is executed all the same. `download` compares a digest before the file is there.",
    check,
    by_step=True,
)
