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
from dataclasses import field
from typing import TypeAlias

from stackplan.model.frozen import dataclass
from stackplan.model.regular import regular

MASK = "***"
SHORTEST_SECRET = 4
"""Characters of the shortest text that is replaced wherever it stands. A shorter one stands in most words by chance."""

# User and password of an address. A password that holds a slash, which no address may, is one all the same.
_CREDENTIALS = regular(
    r"(?<=://)(?:(?P<user>[^/\s:@\"\[]*):(?!\d*(?:[/?#\s\"]|$))(?P<password>[^\s\"]*)|(?P<token>[^/\s:@\"']*))(?=@)"
)
_PARAMETERS = regular(
    r"(?i)(?<=[?&])(?P<name>(?:[a-z_-]*token|[a-z_-]*key|password|secret|sig|[a-z_-]*signature)=)(?P<value>[^&\s\"'#]+)"
)
_WEB = ("http://", "https://")
_SHORTEST_TOKEN = 8
_SHORTEST_CORE = 6
_SHORTEST_PIECE = 4
_GRAM = 12
_BASE64 = frozenset(string.ascii_letters + string.digits + "+/-_=")
_BASE64_RUN = regular(rf"[A-Za-z0-9+/_-]{{{_GRAM},}}={{0,2}}")
# Where a text was cut, so that of a secret there may be a piece alone.
_CUT = regular(r"…|\n\[stackplan: \d+ bytes of output are missing here\]\n|\Z")


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


class Unread(Secret):
    """Stands in for a secret that was not read, or for a text that one goes into: of its form nothing can be told."""

    __slots__ = ()


Text: TypeAlias = str | Secret


def reveal(text: Text) -> str:
    """Return the true text, for the wire and for nothing else."""
    return text.reveal() if isinstance(text, Secret) else text


def shown(text: Text) -> str:
    """Return what people may see of `text`."""
    return str(text)


def _forms(text: str) -> Iterable[str]:
    """Yield the forms in which commands echo a secret: plain, URL-encoded in either case, JSON-escaped, as HTML, quoted
    for a shell in the ways of `set -x`, shlex and `printf %q`, and as hexadecimal digits in either case.
    """
    import html  # noqa: PLC0415 - its list of all entities takes a while, and most commands meet no secret

    yield text
    for encoded in (urllib.parse.quote(text), urllib.parse.quote(text, safe=""), urllib.parse.quote_plus(text)):
        yield encoded
        yield re.sub(r"%[0-9A-F]{2}", lambda match: match[0].lower(), encoded)
    yield json.dumps(text)[1:-1]
    yield json.dumps(text, ensure_ascii=False)[1:-1]
    for apostrophe in ("'", "&#x27;", "&#39;", "&#039;", "&apos;"):
        escaped = html.escape(text, quote=False)
        yield escaped.replace("'", apostrophe)
        yield escaped.replace('"', "&quot;").replace("'", apostrophe)
        yield escaped.replace('"', "&#34;").replace("'", apostrophe)
    yield text.replace("'", "'\\''")
    yield text.replace("'", "'\"'\"'")
    yield re.sub(r'[\\"$`]', r"\\\g<0>", text)
    yield re.sub(r"[^\w@%+=:,./-]", r"\\\g<0>", text)
    digits = text.encode("utf-8", "surrogatepass").hex()
    yield digits
    yield digits.upper()


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


def may_let_in(text: str) -> bool:
    """Return whether `passwords` may find something in a text: a quick look for what all of it has."""
    return ("://" in text and "@" in text) or ("=" in text and ("?" in text or "&" in text))


def passwords(text: str) -> frozenset[str]:
    """Return the passwords in the addresses that `text` holds, as written and decoded.

    A user without a password counts as one where it is long enough to be a token, and so does the value of a parameter
    such as `?token=`.
    """
    if not may_let_in(text):
        return frozenset()
    found = [match["password"] or _token(match) for match in _CREDENTIALS.finditer(text)]
    found += [match["value"] for match in _PARAMETERS.finditer(text)]
    return frozenset(form for it in found if it for form in (it, urllib.parse.unquote(it)))


def _token(match: re.Match[str]) -> str | None:
    token = match["token"] or ""
    return token if len(token) >= _SHORTEST_TOKEN else None


def _lets_in(match: re.Match[str]) -> bool:
    """Return whether credentials let somebody in: a password, a token, any name at all at a web server."""
    return bool(match["password"] or _token(match) or (match["token"] and match.string[: match.start()].endswith(_WEB)))


def without_passwords(text: str) -> str:
    """Return `text` with `***` in the place of who and what its addresses let in."""
    if not may_let_in(text):
        return text
    text = _CREDENTIALS.sub(lambda match: MASK if _lets_in(match) else match[0], text)
    return _PARAMETERS.sub(lambda match: match["name"] + MASK, text)


def masked(line: str) -> str:
    """Return `line` as `without_passwords`, but with each character in its place, for a caret."""

    if not may_let_in(line):
        return line

    def stars(match: re.Match[str]) -> str:
        return "*" * len(match[0]) if _lets_in(match) else match[0]

    line = _CREDENTIALS.sub(stars, line)
    return _PARAMETERS.sub(lambda match: match["name"] + "*" * len(match["value"]), line)


@dataclass(frozen=True, slots=True)
class Redactor:
    """Replaces the given secrets by `***` wherever they stand in a text.

    `forms` are the texts that are replaced, longest first. Of a base64 text that holds one of `cores` nothing is left:
    its first and last characters would tell a part of the secret. A secret of fewer than SHORTEST_SECRET characters
    (only a password in an address can be one) is replaced where it is a word of its own, and not inside others.
    """

    secrets: frozenset[str] = frozenset()
    forms: tuple[str, ...] = field(init=False, repr=False, default=())
    cores: tuple[str, ...] = field(init=False, repr=False, default=())
    _words: re.Pattern[str] | None = field(init=False, repr=False, compare=False, default=None)
    _texts: tuple[str, ...] = field(init=False, repr=False, compare=False, default=())
    _grams: frozenset[str] = field(init=False, repr=False, compare=False, default=frozenset())

    def __post_init__(self) -> None:
        # A secret of several lines is also echoed line by line. A line such as `}` gives nothing away.
        parts = {part for secret in self.secrets for part in (secret, *secret.splitlines())}
        texts = {part for part in parts if len(part.strip()) >= SHORTEST_SECRET}
        short = sorted(secret for secret in self.secrets if 0 < len(secret.strip()) < SHORTEST_SECRET)
        if short:
            pattern = "|".join(re.escape(secret) for secret in sorted(short, key=len, reverse=True))
            object.__setattr__(self, "_words", re.compile(rf"(?<![^\W_])(?:{pattern})(?![^\W_])"))
        for name, variants in (("forms", _forms), ("cores", _cores)):
            found = {form for text in texts for form in variants(text) if form}
            object.__setattr__(self, name, tuple(sorted(found, key=lambda form: (-len(form), form))))
        whole = sorted(text for text in texts if len(text) > 2 * _SHORTEST_PIECE)
        object.__setattr__(self, "_texts", tuple(whole))
        grams = {core[at : at + _GRAM] for core in self.cores for at in range(len(core) - _GRAM + 1)}
        object.__setattr__(self, "_grams", frozenset(grams))

    def text(self, text: str) -> str:
        if self._words is not None:
            text = self._words.sub(MASK, text)
        if not self.forms:
            return text
        for form in self.forms:
            text = text.replace(form, MASK)
        return self._without_pieces(self._without_base64(text))

    def _without_base64(self, text: str) -> str:
        """Return `text` without the base64 that holds a secret, also where a line's end parts it."""
        for core in self.cores:
            if core in text:
                text = _without_runs(text, core)
        if not self._grams:
            return text
        return _BASE64_RUN.sub(lambda run: MASK if _holds(run[0], self._grams) else run[0], text)

    def _without_pieces(self, text: str) -> str:
        """Return `text` without the beginnings of secrets that stand right before a cut, and the ends right after."""
        parts = []
        start = 0
        for cut in _CUT.finditer(text):
            part = text[start : cut.start()]
            shortest = _SHORTEST_PIECE if cut[0] else 2 * _SHORTEST_PIECE
            if start:
                part = MASK + part[length:] if (length := self._ending_at(part)) else part
            if length := self._beginning_at(part, shortest):
                part = part[:-length] + MASK
            parts += [part, cut[0]]
            start = cut.end()
        return "".join(parts)

    def _beginning_at(self, part: str, shortest: int) -> int:
        """Return how many of the last characters of `part` are the beginning of a secret; 0 when they are none."""
        for secret in self._texts:
            tail = part[-len(secret) + 1 :]
            at = tail.find(secret[:shortest])
            while at >= 0:
                if secret.startswith(tail[at:]):
                    return len(tail) - at
                at = tail.find(secret[:shortest], at + 1)
        return 0

    def _ending_at(self, part: str) -> int:
        """Return how many of the first characters of `part` are the end of a secret; 0 when they are none."""
        for secret in self._texts:
            head = part[: len(secret) - 1]
            at = head.rfind(secret[-_SHORTEST_PIECE:])
            while at >= 0:
                if secret.endswith(head[: at + _SHORTEST_PIECE]):
                    return at + _SHORTEST_PIECE
                at = head.rfind(secret[-_SHORTEST_PIECE:], 0, at + _SHORTEST_PIECE - 1)
        return 0

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


def _holds(run: str, grams: frozenset[str]) -> bool:
    return any(run[at : at + _GRAM] in grams for at in range(len(run) - _GRAM + 1))


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
