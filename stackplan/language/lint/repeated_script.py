"""A script with `retries` that does something else when it is run a second time."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._settings import DECLARING
from stackplan.language.lint._shell import Command
from stackplan.language.lint._subject import Looked, Subject
from stackplan.language.lint._tree import Block, Group, flat, pipelines
from stackplan.model.regular import regular

_SET = regular(r"(?P<name>[A-Za-z_]\w*)=(?P<fresh>[\"']?(?:\$\(|`)\s*mktemp\b|\S*\$\$)?")


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        if step.step.retries.times < 1:
            continue
        emptied = set[str]()
        for command, fresh in _with_fresh(step):
            if _in_fresh_folder(command, fresh) or _continues(command, emptied) or _made_anew(command, emptied):
                continue
            emptied |= _emptied(command)
            if (why := _why(command)) is not None and not command.tested and command.before != "||":
                summary = f"after a failure this runs again, and `{command.program}` {why}"
                remedy = "make it safe to repeat, or take `retries` out"
                yield Finding(summary, step.command_at(command), remedy, step.id)
                break


def _with_fresh(step: Looked) -> Iterator[tuple[Command, frozenset[str]]]:
    """Yield the commands, each with the variables that hold what `mktemp` has made, or `$$` named, before it runs."""
    if step.script is None or ("mktemp" not in step.script.text and "$$" not in step.script.text):
        yield from ((it, frozenset()) for it in step.commands)
        return
    # What a function does is done where it is called, by when all may be made.
    everything = frozenset(name for it in step.commands for name, fresh in _set_by(it) if fresh)
    called = {id(it) for block in _functions(step.script.block) for it in flat(block)}
    fresh = set[str]()
    for it in step.commands:
        yield it, everything if id(it) in called else frozenset(fresh)
        for name, anew in _set_by(it):
            if anew:
                fresh.add(name)
            elif it.before not in ("||", "&&"):
                fresh.discard(name)


def _functions(block: Block) -> Iterator[Block]:
    for pipeline in pipelines(block):
        yield from (
            body for it in pipeline.parts if isinstance(it, Group) and it.kind == "function" for _, body in it.blocks
        )


def _set_by(command: Command) -> Iterator[tuple[str, bool]]:
    """Yield the variables that a command sets, each with whether to what `mktemp` makes."""
    words = command.words[1:] if command.program in DECLARING else ()
    for word in (*words, *(() if command.words and not words else command.assignments)):
        if match := _SET.match(word):
            yield match["name"], match["fresh"] is not None


def _in_fresh_folder(command: Command, fresh: frozenset[str]) -> bool:
    """Say whether all that the command makes lies in what `mktemp` has made anew in this very run."""
    targets = _appended(command)
    if command.program == "mkdir" or (command.program == "tee" and not targets):
        targets += command.plain
    elif command.program == "ln" or command.starts("git", "clone"):
        targets += command.plain[-1:]
    starts = tuple(start for name in fresh for start in (f"${name}/", f"${{{name}}}/"))
    return bool(targets) and all(to.startswith(starts) or to in {f"${name}" for name in fresh} for to in targets)


def _continues(command: Command, emptied: set[str]) -> bool:
    """Say whether all that the command appends to is a log, or was emptied before in this very run."""
    targets = _appended(command)
    return bool(targets) and all(to in emptied or to.endswith(".log") or to.startswith("/var/log/") for to in targets)


def _made_anew(command: Command, emptied: set[str]) -> bool:
    """Say whether all folders that the command makes were removed before."""
    return command.program == "mkdir" and bool(command.plain) and emptied.issuperset(command.plain)


def _appended(command: Command) -> list[str]:
    targets = [to for sign, to in command.redirections if sign.lstrip("0123456789&") == ">>"]
    if command.program == "tee" and command.has_flag("a", "--append"):
        targets += command.plain
    return [to for to in targets if to != "/dev/null"]


def _emptied(command: Command) -> set[str]:
    """Return the files that a command begins anew or removes."""
    found = {to for sign, to in command.redirections if sign.lstrip("0123456789&") in (">", ">|")}
    return found | set(command.plain) if command.program in ("rm", "truncate") else found


def _why(command: Command) -> str | None:
    options = [word for word in command.words[1:] if word.startswith("-")]
    short = "".join(word[1:] for word in options if not word.startswith("--"))
    if _appended(command):
        return "appends a second time"
    fails = (
        (command.program == "mkdir" and "p" not in short and "--parents" not in options)
        or (command.program == "ln" and "f" not in short and "--force" not in options)
        or command.program in ("useradd", "groupadd", "adduser")
        or command.starts("git", "clone")
    )
    return "fails on what it made before" if fails else None


RULE = warning(
    "SP143",
    "retries of a script that cannot be repeated",
    "`retries` runs the whole action again after a failure or a timeout, also the part that went well. A script that "
    "appends to a file, makes a folder without `-p` or a link without `-f` then does harm, or fails for another "
    "reason than the first time, which hides that one. What is made in a folder of `mktemp`, or appended to a log, is "
    "not meant.",
    check,
    by_step=True,
)
