"""A postcondition that holds of every node, whatever was done."""

import re
from collections.abc import Iterator, Mapping

from stackplan.language.lint._always import EVERYWHERE, always_succeeds, fails, only_prints
from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._subject import Statement, Subject
from stackplan.language.lint._tree import Block
from stackplan.model.pep440 import InvalidSpecifier, InvalidVersion, SpecifierSet, Version

_REMEDY = "state what is different when the step is done"
_PROBES = ("", "q", "7\n#", " \t", "zz:9 -")
"""Texts that have nothing in common: what matches them all matches every text."""


def check(subject: Subject) -> Iterator[Finding]:
    blocks = {id(statement): block for block, statement, _ in subject.questions}
    for it, step, post in subject.conditions:
        if post and step is not None and (why := _why(it, blocks.get(id(it)))) is not None:
            yield Finding(f"this holds on every node, so it proves nothing: {why}", it.at, _REMEDY, step.id)


def _why(it: Statement, block: Block | None) -> str | None:
    if it.negated:
        return "this never succeeds" if block is not None and _status(it) == "0" and fails(block) else None
    return _why_of_command(it, block) if it.kind == "command" else _why_of_text(it) or _why_of_value(it)


def _why_of_text(it: Statement) -> str | None:
    for field in ("stdout", "stderr", "body", "content"):
        matcher = it.arguments.values.get(field)
        if matcher is not None and _anything(matcher):
            assert isinstance(matcher, Mapping)
            pattern = matcher.get("matches")
            return "every text contains an empty one" if pattern is None else f"`{pattern}` matches every text"
    return None


def _why_of_value(it: Statement) -> str | None:
    version = it.text("version")
    if version is not None and _admits_all(version) and it.kind in ("torch", "apt_package", "os"):
        return f"every version meets `{version}`"
    if it.kind == "disk" and re.fullmatch(r"0+(?:\.0*)?\s*[A-Za-z%]*", it.text("free") or ""):
        return "every filesystem has that much room"
    return "that folder is everywhere" if it.kind == "file" and _is_everywhere(it) else None


def _is_everywhere(it: Statement) -> bool:
    given = {name: value for name, value in it.arguments.values.items() if value is not None}
    path, exists, type_ = given.pop("path", None), given.pop("exists", True), given.pop("type", "directory")
    known = isinstance(path, str) and (path.rstrip("/") or "/") in EVERYWHERE
    return known and exists is not False and type_ == "directory" and not given


def _why_of_command(it: Statement, block: Block | None) -> str | None:
    if block is None:
        return None
    if _status(it) != "0":
        # Its output counts as well, but what ends so always ends so.
        failing = _status(it) == "1" and fails(block) and not any(_bounded(it))
        return "this never succeeds, and that is what is asked for" if failing else None
    if not any(_bounded(it)):
        return always_succeeds(block)
    printed, asked = only_prints(block), it.arguments.values.get("stdout")
    wanted = list(asked.values()) if isinstance(asked, Mapping) and set(asked) <= {"equals", "contains"} else [asked]
    if printed is None or "stderr" in it.arguments:
        return None
    same = all(isinstance(text, str) and text in printed for text in wanted)
    return "it prints what is asked for by itself" if same else None


def _status(it: Statement) -> str:
    return str(it.arguments.values.get("exit_code", 0))


def _bounded(it: Statement) -> Iterator[bool]:
    """Yield whether what is printed has to look like something."""
    for name in ("stdout", "stderr"):
        value = it.arguments.values.get(name)
        yield value is not None and not _anything(value)


def _anything(matcher: object) -> bool:
    if not isinstance(matcher, Mapping) or len(matcher) != 1:
        return False
    pattern = matcher.get("matches")
    return matcher.get("contains") == "" or (isinstance(pattern, str) and "{{" not in pattern and _matches_all(pattern))


def _matches_all(pattern: str) -> bool:
    try:
        return all(re.search(pattern, probe, re.MULTILINE) for probe in _PROBES)
    except (re.error, RecursionError, OverflowError):
        return False


def _admits_all(text: str) -> bool:
    try:
        found = list(SpecifierSet(text))
        return bool(found) and all(it.operator in (">=", ">") and not any(Version(it.version).release) for it in found)
    except (InvalidSpecifier, InvalidVersion):
        return False


RULE = error(
    "SP130",
    "a postcondition that cannot fail",
    'A postcondition such as `command: {run: "true"}`, `… || true`, `version: ">=0"` or a pattern that matches '
    "everything holds before the step and after it. Since a step whose postconditions hold is satisfied, it is not "
    "even run. State something that does not hold on a node where the step has still to be done.",
    check,
    by_step=True,
)
