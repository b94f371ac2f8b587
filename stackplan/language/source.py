"""The lines of the files that were read, and the caret under what a diagnosis is about."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from stackplan.model import secret
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.location import Location
from stackplan.model.regular import regular
from stackplan.model.secret import Redactor, masked, may_let_in, passwords

Sources = Mapping[str, tuple[str, ...]]
"""By path as it stands in locations: the file's lines."""

_WIDEST = 240
"""Characters of a line that a message still shows."""

_SHORTEST = 4
"""A shorter password is made unreadable in its address alone: it may well be a part of any other word."""

_QUOTED = regular(r""""(?:[^"\\]|\\.)*"|'(?:[^']|'')*'""")
_KEY = regular(r"[^\s\[\]{},#&*!|>'\"%@`][^\s:,\[\]{}]*(?=\s*:(?:\s|$))")
_PLAIN = regular(r".+?(?=\s+#|\s*$)")
_PLAIN_IN_FLOW = regular(r".+?(?=\s+#|\s*[,\[\]{}]|\s*$)")


def lines(text: str) -> tuple[str, ...]:
    """Return the lines as YAML counts them, and therefore as locations do."""
    return tuple(re.split(r"\r\n|\n", text))


def annotate(diagnoses: Iterable[Diagnosis], sources: Sources) -> list[Diagnosis]:
    """Return the diagnoses with the line that each is about, and how much of it to underline; others as they are."""
    return [_annotated(it, sources) for it in diagnoses]


def invalid(diagnoses: Iterable[Diagnosis], sources: Sources) -> Invalid:
    """Return (for raising) the diagnoses with their lines."""
    return Invalid(annotate(diagnoses, sources))


def without_passwords(diagnosis: Diagnosis) -> Diagnosis:
    """Return the diagnosis with the passwords of addresses in it, or in its line, made unreadable in all its texts."""
    texts = [diagnosis.source or "", *_texts(diagnosis)]
    if not any(may_let_in(it) for it in texts):
        return diagnosis
    found = frozenset(it for text in texts for it in passwords(text) if len(it) >= _SHORTEST)
    redactor = Redactor(found)
    return hidden(diagnosis, lambda text: redactor.text(secret.without_passwords(text)))


def hidden(diagnosis: Diagnosis, hide: Callable[[str], str]) -> Diagnosis:
    """Return the diagnosis with every text of it, but its line, as `hide` gives it back."""
    return replace(
        diagnosis,
        summary=hide(diagnosis.summary),
        expected=_if_any(diagnosis.expected, hide),
        observed=_if_any(diagnosis.observed, hide),
        remedy=_if_any(diagnosis.remedy, hide),
        causes=tuple(hide(cause) for cause in diagnosis.causes),
        source=None if diagnosis.source is None else masked(diagnosis.source),
    )


def _if_any(text: str | None, hide: Callable[[str], str]) -> str | None:
    return None if text is None else hide(text)


def _texts(diagnosis: Diagnosis) -> Iterator[str]:
    yield from (diagnosis.summary, *diagnosis.causes)
    yield from (text for text in (diagnosis.expected, diagnosis.observed, diagnosis.remedy) if text is not None)


def _annotated(diagnosis: Diagnosis, sources: Sources) -> Diagnosis:
    """Return the diagnosis fit to be shown: with its line, and without the passwords that stand there in clear."""
    return without_passwords(_with_line(diagnosis, sources))


def _with_line(diagnosis: Diagnosis, sources: Sources) -> Diagnosis:
    at = diagnosis.at
    if at is None or diagnosis.source is not None:
        return diagnosis
    found = sources.get(at.path, ())
    if not 0 < at.line <= len(found):
        return diagnosis
    line = found[at.line - 1]
    if len(line) > _WIDEST:
        # A caret would point far off the screen.
        return diagnosis
    return replace(diagnosis, source=line, span=diagnosis.span if diagnosis.span > 1 else span(line, at.column))


def span(line: str, column: int) -> int:
    """Return how many characters the key or value that begins at `column` takes on its line, at least one."""
    start = column - 1
    for pattern in (_QUOTED, _KEY, _PLAIN_IN_FLOW if _in_flow(line[:start]) else _PLAIN):
        if match := pattern.match(line, start):
            return max(1, len(match[0]))
    return 1


def _in_flow(before: str) -> bool:
    bare = _QUOTED.sub("", before)
    return bare.count("{") + bare.count("[") > bare.count("}") + bare.count("]")


def find(name: str, at: Location, sources: Sources) -> Location:
    """Return where `name` stands as a word in the text that begins at `at`, in a template if it can be; else `at`."""
    word = re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)")
    found = [
        (line[: match.start()], Location(at.path, number, match.start() + 1))
        for number, line, start in _lines_of(at, sources.get(at.path, ()))
        for match in word.finditer(line, start)
    ]
    inside = [place for before, place in found if _in_template(before)]
    return next(iter([*inside, *(place for _, place in found)]), at)


def _lines_of(at: Location, found: tuple[str, ...]) -> Iterator[tuple[int, str, int]]:
    """Yield number, text and first index of each line that a text which begins at `at` can reach."""
    # What begins at the first column is a whole file; other texts end where the indentation does.
    indent = _indent(found[at.line - 1]) if at.column > 1 and at.line <= len(found) else -1
    for number in range(at.line, len(found) + 1):
        line = found[number - 1]
        if number > at.line and line.strip() and _indent(line) <= indent:
            return
        yield number, line, at.column - 1 if number == at.line else 0


def _in_template(before: str) -> bool:
    opened = max(before.rfind("{{"), before.rfind("{%"))
    return opened > max(before.rfind("}}"), before.rfind("%}"))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
