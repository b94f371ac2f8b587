"""What a test says of a variable that holds a failure: `[ $rc -ne 0 ]`, `(( ${#failed[@]} == 0 ))`, `exit $rc`.

Only tests of one variable and nothing else are read; of any other it is not known whether they hold. A file that marks
a failure, `touch "$failed"` and `[ -e "$failed" ]`, is taken for a variable of a name of its own.
"""

import re
from collections.abc import Iterator
from enum import Enum

from stackplan.language.lint._tree import Command
from stackplan.model.frozen import dataclass
from stackplan.model.regular import regular

_SET = regular(r"(?P<name>[A-Za-z_]\w*)(?P<member>\[[^]]*\])?(?P<sign>\+?=)(?P<value>.*)", re.DOTALL)
_PLAIN = regular(r"[^$`]*")
_EXPANSION = regular(r"\$(?:\w+|[@*#?!$-]|\{[^}]*\}|\([^)]*\)+)|`[^`]*`")
_COUNTED = regular(r"\(\(\s*(?:\+\+\s*)?(?P<name>[A-Za-z_]\w*)\s*(?:\+\+|\+=\s*[1-9]\d*)?\s*\)\)")
_ADDED = regular(r"\$\(\(\s*\$?(?P<name>[A-Za-z_]\w*)\s*\+\s*[1-9]\d*\s*\)\)")
_CHANGED = regular(r"(?P<name>[A-Za-z_]\w*)\s*(?:\+\+|--|[-+*/%|&^]?=(?!=))|(?:\+\+|--)\s*(?P<before>[A-Za-z_]\w*)")
_LOOKED_AT = regular(
    r"\$?(?:(?P<bare>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*|\?)(?::?-0?)?\}|(?P<last>\?)|"
    r"\{(?P<counted>#)?(?P<array>[A-Za-z_]\w*)\[[@*]\]\})"
)
_DEFAULT = regular(r"\$\{\w+:?-(?P<default>0?)\}")
_ARITHMETIC = regular(r"\(\(\s*(?P<left>\S+?)\s*(?:(?P<sign>==|!=|<=|>=|<|>)\s*(?P<right>\d+)\s*)?\)\)")
_TURNED = regular(r"\(\(\s*!\s*[\w$]")
_COMPARED = regular(r"[\w./:-]*")
_TESTS = frozenset({"[", "[[", "test"})
_SIGNS = {"-eq": "==", "-ne": "!=", "-gt": ">", "-ge": ">=", "-lt": "<", "-le": "<=", "=": "=", "==": "=", "!=": "<>"}
_DECLARING = frozenset({"local", "declare", "typeset", "export", "readonly"})
_THERE, _FULL = "file ", "size "
"""What the names begin with that stand for a file being there, and for there being something in it."""
_FILE_TESTS = {"-e": _THERE, "-f": _THERE, "-r": _THERE, "-s": _FULL}
_WRITING = frozenset({"echo", "printf", "date", "cat"})
_FILLING = frozenset({"read", "unset", "mapfile", "readarray", "getopts", "printf", "let"})


class Kind(Enum):
    TEXT = "text"
    """Exactly this text."""
    NUMBER = "number"
    """Some number from 1 on."""
    SOME = "some"
    """Some text that is not empty."""
    ARRAY = "array"
    """An array; its text is empty where it has no members."""


@dataclass(frozen=True, slots=True)
class Value:
    """What a variable may hold."""

    kind: Kind
    text: str = ""


FAILED = Value(Kind.NUMBER)
WELL = Value(Kind.TEXT, "0")
_STATUS = ("$?", "${?}")


def values_set(it: Command, *, failed: bool) -> Iterator[tuple[str, tuple[Value, ...] | None]]:
    """Yield each variable that a command sets with what it may hold then; None where that is not known.

    `failed` where `$?` is known to be the status of a failure.
    """
    words = it.words[1:] if it.program in _DECLARING else () if it.words else it.assignments
    for word in words:
        if match := _SET.fullmatch(word):
            yield match["name"], _of_member(match) if match["member"] else _held(match, failed=failed)
    if it.words and it.words[0].startswith("(("):
        if match := _COUNTED.fullmatch(it.words[0]):
            if match[0].strip("() ") != match["name"]:
                yield match["name"], (FAILED,)
        else:
            for changed in _CHANGED.finditer(it.words[0]):
                yield changed["name"] or changed["before"], None
    elif it.program in _FILLING:
        yield from ((re.split(r"[^\w]", word, maxsplit=1)[0], None) for word in it.words[1:])
    if it.redirections or it.program in ("touch", "rm"):
        yield from _files_set(it)


def _files_set(it: Command) -> Iterator[tuple[str, tuple[Value, ...] | None]]:
    """Yield what a command changes of files, in the words for variables."""
    for word in it.plain if it.program in ("touch", "rm") else ():
        yield _THERE + word, (Value(Kind.SOME if it.program == "touch" else Kind.TEXT),)
        if it.program == "rm":
            yield _FULL + word, (Value(Kind.TEXT),)
    for sign, target in it.redirections:
        if sign in (">", ">>", ">|") and not target.startswith("/dev/"):
            yield _THERE + target, (Value(Kind.SOME),)
            if it.program in _WRITING:
                yield _FULL + target, (Value(Kind.SOME),)
            elif sign != ">>":
                yield _FULL + target, (Value(Kind.TEXT),) if it.program in ("", ":", "true") else None


def _of_member(match: re.Match[str]) -> tuple[Value, ...] | None:
    return (Value(Kind.ARRAY, "x"),) if match["sign"] == "=" or match["value"] else None


def _held(match: re.Match[str], *, failed: bool) -> tuple[Value, ...] | None:
    value, adds = match["value"], match["sign"] == "+="
    if value.startswith("("):
        members = value[1:-1].strip()
        return (Value(Kind.ARRAY, "x"),) if members else None if adds else (Value(Kind.ARRAY),)
    if value in _STATUS and not adds:
        return (FAILED,) if failed else (WELL, FAILED)
    if (added := _ADDED.fullmatch(value)) and added["name"] == match["name"]:
        return (FAILED,)
    if _PLAIN.fullmatch(value) and not adds:
        return (Value(Kind.TEXT, value),)
    return (Value(Kind.SOME),) if _EXPANSION.sub("", value) else None


def looked_at(text: str) -> str:
    """Return the variable that a word gives and nothing else: `$rc`, `${#failed[@]}`; "" of any other word."""
    match = _LOOKED_AT.fullmatch(text) if text.startswith("$") else None
    return (match["bare"] or match["braced"] or match["last"] or match["array"]) if match else ""


def status_fails(word: str, name: str, value: Value) -> bool:
    """Return whether `exit WORD` ends with a failure where the variable holds the value."""
    given = _given(word, value) if looked_at(word) == name else None
    if given is None or given.kind is Kind.SOME:
        return False
    return given.kind is Kind.NUMBER or (given.text.isdecimal() and int(given.text) % 256 != 0)


def tested_name(it: Command) -> str:
    """Return the variable that a test looks at, "" where it is no test, or of more than one thing."""
    parts = _parts(it)
    return "" if parts is None else _name(parts[0])


def defaults(it: Command) -> list[Value]:
    """Return what a test takes in the place of a variable that is not set: of `${rc:-0}` 0."""
    return [Value(Kind.TEXT, match["default"]) for word in it.words if (match := _DEFAULT.search(word))]


def holds(it: Command, value: Value) -> bool | None:
    """Return whether a test of one variable holds where that has the value; None where it is not known."""
    parts = _parts(it)
    if parts is None or (given := _given(parts[0], value)) is None:
        return None
    _, sign, right, turned = parts
    found = _truth(given, sign) if right is None else _compared(given, sign, right)
    return None if found is None else found != turned


_Parts = tuple[str, str, str | None, bool]
"""What a test looks at, its sign, what it compares with, and whether it is turned round."""


def _parts(it: Command) -> _Parts | None:
    if len(it.words) == 1 and it.words[0].startswith("(("):
        return _of_arithmetic(it.words[0])
    if len(it.words) == 1 and looked_at(it.words[0]):
        # `if $failed; then`: it runs `true` or `false`.
        return it.words[0], "run", None, False
    return _of_brackets(it) if it.program in _TESTS else None


def _of_arithmetic(text: str) -> _Parts | None:
    turned = _TURNED.match(text) is not None
    match = _ARITHMETIC.fullmatch(text.replace("!", "", 1) if turned else text)
    return (match["left"], match["sign"] or "((", match["right"], turned) if match and _name(match["left"]) else None


def _of_brackets(it: Command) -> _Parts | None:
    words = [word for word in it.words[1:] if word not in ("]", "]]")]
    turned = words[:1] == ["!"]
    match words[1:] if turned else words:
        case [left] if looked_at(left):
            return left, "-n", None, turned
        case [sign, left] if sign in _FILE_TESTS:
            return _FILE_TESTS[sign] + left, "-n", None, turned
        case ["-n" | "-z" as sign, left] if looked_at(left):
            return left, sign, None, turned
        case [left, sign, right] if sign in _SIGNS and looked_at(left) and _COMPARED.fullmatch(right):
            return left, _SIGNS[sign], right, turned
    return None


def _name(left: str) -> str:
    if left.startswith((_THERE, _FULL)):
        return left
    return looked_at(left if left.startswith("$") else f"${left}")


def _given(left: str, value: Value) -> Value | None:
    """Return what a word gives where its variable holds the value."""
    match = _LOOKED_AT.fullmatch(left)
    if match is None:
        return value if left.startswith((_THERE, _FULL)) else None
    if value.kind is Kind.ARRAY:
        if match["counted"]:
            return FAILED if value.text else WELL
        return Value(Kind.SOME) if value.text else Value(Kind.TEXT)
    return None if match["counted"] else value


def _truth(given: Value, sign: str) -> bool | None:
    if sign == "run":
        return {"true": True, "false": False}.get(given.text) if given.kind is Kind.TEXT else None
    if sign == "((":
        if given.kind is Kind.TEXT:
            return int(given.text) != 0 if given.text.isdecimal() else None
        return True if given.kind is Kind.NUMBER else None
    full = given.kind is not Kind.TEXT or bool(given.text)
    return full != (sign == "-z")


def _compared(given: Value, sign: str, right: str) -> bool | None:
    if sign in ("=", "<>") and given.kind is Kind.TEXT:
        return (given.text == right) == (sign == "=")
    if sign in ("=", "<>") and right == "":
        return sign == "<>"
    if given.kind is Kind.SOME or not right.isdecimal():
        return None
    number = int(right)
    if given.kind is Kind.TEXT:
        return _ordered(int(given.text), sign, number) if given.text.isdecimal() else None
    # What is the same of 1 and of all above.
    if number > 1 or (number == 1 and sign not in (">=", "<")):
        return None
    return _ordered(1, sign, number)


def _ordered(left: int, sign: str, right: int) -> bool:
    return {
        "==": left == right, "=": left == right, "!=": left != right, "<>": left != right,
        ">": left > right, ">=": left >= right, "<": left < right, "<=": left <= right,
    }[sign]  # fmt: skip
