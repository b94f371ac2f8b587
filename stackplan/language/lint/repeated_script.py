"""A script with `retries` that does something else when it is run a second time."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._shell import Command
from stackplan.language.lint._subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        if step.step.retries.times < 1:
            continue
        for command in step.commands:
            if (why := _why(command)) is not None and not command.tested and command.before != "||":
                summary = f"after a failure this runs again, and `{command.program}` {why}"
                remedy = "make it safe to repeat, or take `retries` out"
                yield Finding(summary, step.command_at(command), remedy, step.id)
                break


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
