"""A postcondition that holds of every node, whatever was done."""

import re
from collections.abc import Iterator, Mapping

from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._shell import Command
from stackplan.language.lint._subject import Statement, Subject
from stackplan.model.pep440 import InvalidSpecifier, SpecifierSet

_REMEDY = "state what is different when the step is done"
_ALWAYS = frozenset({"true", ":", "echo", "printf"})
_EVERYTHING = re.compile(r"\^?(?:\(\?s\))?\.\*\$?|\^|\$|")


def check(subject: Subject) -> Iterator[Finding]:
    commands = {id(statement): told for told, statement, _ in subject.asked}
    for it, step, post in subject.conditions:
        if post and step is not None and not it.negated and (why := _why(it, commands.get(id(it), ()))) is not None:
            yield Finding(f"this holds on every node, so it proves nothing: {why}", it.at, _REMEDY, step.id)


def _why(it: Statement, told: tuple[Command, ...]) -> str | None:
    given = it.arguments.values
    for field in ("stdout", "stderr", "body", "content"):
        matcher = given.get(field)
        if isinstance(matcher, Mapping) and set(matcher) == {"matches"}:
            pattern = matcher["matches"]
            if isinstance(pattern, str) and _EVERYTHING.fullmatch(pattern) and it.kind != "command":
                return f"`{pattern}` matches every text"
        if isinstance(matcher, Mapping) and matcher.get("contains") == "":
            return "every text contains an empty one"
    version = it.text("version")
    if version is not None and _admits_all(version) and it.kind in ("torch", "apt_package"):
        return f"every version meets `{version}`"
    if it.kind == "disk" and re.fullmatch(r"0+(?:\.0+)?\s*\w*", it.text("free") or ""):
        return "every filesystem has that much room"
    return _why_of_command(it, told) if it.kind == "command" else None


def _why_of_command(it: Statement, told: tuple[Command, ...]) -> str | None:
    outer = [command for command in told if command.depth == 0 and command.words]
    if not outer or str(it.arguments.values.get("exit_code", 0)) != "0":
        return None
    printed = [it.arguments.values.get(name) for name in ("stdout", "stderr")]
    bounded = any(value is not None and not _anything(value) for value in printed)
    last = outer[-1]
    if bounded:
        return None
    if last.before == "||" and (last.program in _ALWAYS or last.text == "exit 0"):
        return f"`|| {last.text}` ends with 0 whatever happens before"
    if last.before == ";" and last.program == "true":
        return "the text ends with `true`"
    if len(outer) == 1 and (last.program in _ALWAYS or last.text == "exit 0"):
        return f"`{last.program}` always succeeds"
    return None


def _anything(matcher: object) -> bool:
    pattern = matcher.get("matches") if isinstance(matcher, Mapping) and set(matcher) == {"matches"} else None
    return isinstance(pattern, str) and _EVERYTHING.fullmatch(pattern) is not None


def _admits_all(text: str) -> bool:
    try:
        found = SpecifierSet(text)
    except InvalidSpecifier:
        return False
    return len(found) == 1 and all(it.operator == ">=" and not it.version.strip("0.") for it in found)


RULE = error(
    "SP130",
    "a postcondition that cannot fail",
    'A postcondition such as `command: {run: "true"}`, `… || true`, `version: ">=0"` or a pattern that matches '
    "everything holds before the step and after it. Since a step whose postconditions hold is satisfied, it is not "
    "even run. State something that does not hold on a node where the step has still to be done.",
    check,
)
