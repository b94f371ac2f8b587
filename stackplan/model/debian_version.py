"""Debian's order of package versions, as dpkg has it, and specifiers over it. Pure.

A version is `[epoch:]upstream[-revision]`. Upstream and revision are compared in turns of text and number: in text `~`
sorts before everything, even before the end, then come letters, then all other characters.
"""

import re
from collections.abc import Iterator
from itertools import zip_longest

from stackplan.model.arguments import Arguments
from stackplan.model.frozen import dataclass
from stackplan.model.regular import regular

_EPOCH = regular(r"(\d+):(.*)", re.DOTALL)
_ALLOWED = regular(r"[A-Za-z0-9.+:~-]+")
_TURNS = regular(r"(\D*)(\d*)")
_CLAUSE = regular(r"\s*(>>|<<|>=|<=|==|!=|=|>|<)?\s*(\S+)\s*")


def compare(one: str, other: str) -> int:
    """Return -1, 0 or 1 as `one` is before, as far as, or after `other`."""
    first, second = _parts(one), _parts(other)
    if first[0] != second[0]:
        return -1 if first[0] < second[0] else 1
    return _order(first[1], second[1]) or _order(first[2], second[2])


def _parts(version: str) -> tuple[int, str, str]:
    epoch = _EPOCH.fullmatch(version)
    rest = epoch[2] if epoch else version
    upstream, dash, revision = rest.rpartition("-")
    return (int(epoch[1]) if epoch else 0, upstream, revision) if dash else (int(epoch[1]) if epoch else 0, rest, "")


def _order(one: str, other: str) -> int:
    for (text, number), (its_text, its_number) in zip_longest(_turns(one), _turns(other), fillvalue=("", 0)):
        if by_text := _text_order(text, its_text):
            return by_text
        if number != its_number:
            return -1 if number < its_number else 1
    return 0


def _turns(text: str) -> Iterator[tuple[str, int]]:
    for match in _TURNS.finditer(text):
        yield match[1], int(match[2] or 0)


def _text_order(one: str, other: str) -> int:
    for character, its_character in zip_longest(one, other, fillvalue=""):
        if character != its_character:
            return -1 if _rank(character) < _rank(its_character) else 1
    return 0


def _rank(character: str) -> int:
    if not character:
        return 0
    if character == "~":
        return -1
    return ord(character) if character.isalpha() else ord(character) + 256


@dataclass(frozen=True, slots=True)
class DebianSpecifier:
    """`text` as written, and its clauses: all of them have to admit a version."""

    text: str
    clauses: tuple[tuple[str, str], ...]

    def admits(self, version: str) -> bool:
        return all(_admits(operator, wanted, version) for operator, wanted in self.clauses)


def _admits(operator: str, wanted: str, version: str) -> bool:
    if wanted.endswith("*"):
        return version.startswith(wanted[:-1]) is (operator == "==")
    order = compare(version, wanted)
    return {
        "==": order == 0,
        "!=": order != 0,
        ">=": order >= 0,
        "<=": order <= 0,
        ">": order > 0,
        "<": order < 0,
    }[operator]


def debian_specifier(text: str) -> DebianSpecifier:
    """Return the specifier that `text` states, such as `>=2.30.7-1, <2.31`. Raise ValueError when it states none.

    A bare version has to be met exactly; one that ends in `*` is a beginning. `>>` and `<<` mean `>` and `<`.
    """
    clauses = []
    for part in text.split(","):
        match = _CLAUSE.fullmatch(part)
        if match is None:
            raise ValueError(f"{part!r} is no version")
        operator = {None: "==", "=": "==", ">>": ">", "<<": "<"}.get(match[1], match[1])
        version = match[2]
        bare = version.removesuffix("*") if operator in ("==", "!=") else version
        if not _ALLOWED.fullmatch(bare) or not bare[0].isdigit():
            raise ValueError(f"{version!r} is no version of a Debian package")
        clauses.append((operator, version))
    return DebianSpecifier(text.strip(), tuple(clauses))


def read_debian_specifier(arguments: Arguments, key: str) -> DebianSpecifier | None:
    """Return the specifier at `key`, or None. Raise Invalid when it is none."""
    if key not in arguments:
        return None
    return arguments.converted(key, debian_specifier, "a Debian version such as 2.30.7-1, 2.30.* or >=2.30.7-1")
