"""A script with `retries` that does something else when it is run a second time."""

import re
from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._shell import Command
from stackplan.language.lint._subject import Subject

_FRESH = re.compile(r"\b(\w+)=[\"']?(?:\$\(|`)\s*mktemp\b")


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        if step.step.retries.times < 1:
            continue
        fresh = frozenset(_FRESH.findall(step.script.text if step.script else ""))
        for command in step.commands:
            if _in_fresh_folder(command, fresh):
                continue
            if (why := _why(command)) is not None and not command.tested and command.before != "||":
                summary = f"after a failure this runs again, and `{command.program}` {why}"
                remedy = "make it safe to repeat, or take `retries` out"
                yield Finding(summary, step.command_at(command), remedy, step.id)
                break


def _in_fresh_folder(command: Command, fresh: frozenset[str]) -> bool:
    """Say whether all that the command makes lies in what `mktemp` has made anew in this very run."""
    targets = [to for sign, to in command.redirections if sign.lstrip("0123456789&") == ">>"]
    if command.program in ("mkdir", "tee"):
        targets += command.plain
    elif command.program == "ln" or command.starts("git", "clone"):
        targets += command.plain[-1:]
    starts = tuple(start for name in fresh for start in (f"${name}/", f"${{{name}}}/"))
    return bool(targets) and all(to.startswith(starts) or to in {f"${name}" for name in fresh} for to in targets)


def _why(command: Command) -> str | None:
    options = [word for word in command.words[1:] if word.startswith("-")]
    short = "".join(word[1:] for word in options if not word.startswith("--"))
    appends = any(sign.lstrip("0123456789&") == ">>" and to != "/dev/null" for sign, to in command.redirections)
    if appends or (command.program == "tee" and ("a" in short or "--append" in options)):
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
    "reason than the first time, which hides that one.",
    check,
)
