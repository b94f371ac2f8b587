"""Texts that must not be seen, and the one way of making them unseen.

Inside the program a secret is a `Secret`, so that no formatting can print it by accident. Where text leaves the program
(events, journal, report, terminal) a `Redactor` replaces every secret by value, because a command may echo what it was
given.
"""

import base64
import json
import re
import urllib.parse
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

MASK = "***"

_CREDENTIALS = re.compile(r"(?<=://)([^/\s@:\"']*)(?::([^/\s@\"']*))?(?=@)")
_SHORTEST_TOKEN = 8


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
    """Yield the forms in which commands echo a secret: plain, URL-encoded, JSON-escaped, base64 at each alignment."""
    yield text
    yield urllib.parse.quote(text)
    yield urllib.parse.quote(text, safe="")
    yield urllib.parse.quote_plus(text)
    yield json.dumps(text)[1:-1]
    yield json.dumps(text, ensure_ascii=False)[1:-1]
    raw = text.encode("utf-8", "surrogateescape")
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for lead in range(3):
            # Of the bytes before and after the secret only the groups of three that lie wholly inside it are fixed.
            inner = raw[(3 - lead) % 3 :]
            inner = inner[: len(inner) // 3 * 3]
            if len(inner) >= 6:
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
    """Replaces the given secrets by `***` wherever they stand in a text, longest form first."""

    secrets: frozenset[str] = frozenset()
    _ordered: tuple[str, ...] = field(init=False, repr=False, default=())

    def __post_init__(self) -> None:
        # A secret of several lines is also echoed line by line.
        texts = {part for secret in self.secrets for part in (secret, *secret.splitlines()) if part.strip()}
        forms = {form for text in texts for form in _forms(text) if form}
        object.__setattr__(self, "_ordered", tuple(sorted(forms, key=lambda form: (-len(form), form))))

    def text(self, text: str) -> str:
        for form in self._ordered:
            text = text.replace(form, MASK)
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

    @property
    def longest(self) -> int:
        """Characters of the longest form: a stream has to hold back one less than this to redact across its chunks."""
        return len(self._ordered[0]) if self._ordered else 0
