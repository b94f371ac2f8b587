"""Texts that must not be seen, and the one way of making them unseen.

Inside the program a secret is a `Secret`, so that no formatting can print it by accident. Where text leaves the program
(events, journal, report, terminal) a `Redactor` replaces every secret by value, because a command may echo what it was
given.
"""

import base64
import json
import re
import string
import urllib.parse
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

MASK = "***"

_CREDENTIALS = re.compile(r"(?<=://)([^/\s@:\"']*)(?::([^/\s@\"']*))?(?=@)")
_SHORTEST_TOKEN = 8
_SHORTEST_CORE = 6
_BASE64 = frozenset(string.ascii_letters + string.digits + "+/-_=")


class Secret:
    """A text whose `str()` and `repr()` are `***`; only `reveal()` gives it away."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __str__(self) -> str:
        return MASK

    def __repr__(self) -> str:
        return f"Secret({MASK})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash((Secret, self._text))


Text: TypeAlias = str | Secret


def reveal(text: Text) -> str:
    """Return the true text, for the wire and for nothing else."""
    return text.reveal() if isinstance(text, Secret) else text


def shown(text: Text) -> str:
    """Return what people may see of `text`."""
    return str(text)


def _forms(text: str) -> Iterable[str]:
    """Yield the forms in which commands echo a secret: plain, URL-encoded, JSON-escaped."""
    yield text
    yield urllib.parse.quote(text)
    yield urllib.parse.quote(text, safe="")
    yield urllib.parse.quote_plus(text)
    yield json.dumps(text)[1:-1]
    yield json.dumps(text, ensure_ascii=False)[1:-1]


def _cores(text: str) -> Iterable[str]:
    """Yield what is the same in every base64 text that holds a secret: the groups of three bytes wholly inside it, at
    each of the three alignments.
    """
    raw = text.encode("utf-8", "surrogatepass")
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for lead in range(3):
            inner = raw[lead:]
            inner = inner[: len(inner) // 3 * 3]
            if len(inner) >= _SHORTEST_CORE:
                yield encode(inner).decode("ascii")


def passwords(text: str) -> frozenset[str]:
    """Return the passwords in the addresses that `text` holds, as written and decoded.

    A user without a password counts as one where it is long enough to be a token.
    """
    found = [
        password or user for user, password in _CREDENTIALS.findall(text) if password or len(user) >= _SHORTEST_TOKEN
    ]
    return frozenset(form for it in found for form in (it, urllib.parse.unquote(it)))


def masked(line: str) -> str:
    """Return `line` with the passwords of its addresses made unreadable, each character in its place for a caret."""
    return _CREDENTIALS.sub(lambda match: "*" * len(match[0]) if passwords(f"://{match[0]}@") else match[0], line)


@dataclass(frozen=True, slots=True)
class Redactor:
    """Replaces the given secrets by `***` wherever they stand in a text.

    `forms` are the texts that are replaced, longest first. Of a base64 text that holds one of `cores` nothing is left:
    its first and last characters would tell a part of the secret.
    """

    secrets: frozenset[str] = frozenset()
    forms: tuple[str, ...] = field(init=False, repr=False, default=())
    cores: tuple[str, ...] = field(init=False, repr=False, default=())

    def __post_init__(self) -> None:
        # A secret of several lines is also echoed line by line.
        texts = {part for secret in self.secrets for part in (secret, *secret.splitlines()) if part.strip()}
        for name, variants in (("forms", _forms), ("cores", _cores)):
            found = {form for text in texts for form in variants(text) if form}
            object.__setattr__(self, name, tuple(sorted(found, key=lambda form: (-len(form), form))))

    def text(self, text: str) -> str:
        for form in self.forms:
            text = text.replace(form, MASK)
        for core in self.cores:
            if core in text:
                text = _without_runs(text, core)
        return text

    def plain(self, value: object) -> object:
        """Redact every text, keys included, of a JSON-like value."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(str(key)): self.plain(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.plain(item) for item in value]
        return value

    def within(self, texts: Iterable[str]) -> "Redactor":
        """Return a redactor of those secrets alone that stand in one of `texts`."""
        found = tuple(texts)
        return Redactor(frozenset(it for it in self.secrets if any(it in text for text in found)))

    @property
    def longest(self) -> int:
        """Characters of the longest form: a stream has to hold back one less than this to redact across its chunks."""
        return max((len(form) for form in (*self.forms[:1], *self.cores[:1])), default=0)


def _without_runs(text: str, core: str) -> str:
    """Return `text` with every run of base64 characters around `core` replaced."""
    parts = []
    end = 0
    while (start := text.find(core, end)) >= 0:
        first, last = start, start + len(core)
        while first > end and text[first - 1] in _BASE64:
            first -= 1
        while last < len(text) and text[last] in _BASE64:
            last += 1
        parts += [text[end:first], MASK]
        end = last
    return "".join([*parts, text[end:]])
