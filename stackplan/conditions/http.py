"""The kind `http`: what an address answers to the node."""

import json
import re
import urllib.parse
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal, DecimalException
from typing import ClassVar, Self

from stackplan.conditions._answers import mapping, matching, one_line, unanswered
from stackplan.model.arguments import Arguments
from stackplan.model.condition import Recheck
from stackplan.model.facts import Facts, Plain, Query
from stackplan.model.frozen import dataclass
from stackplan.model.kind import ConditionKind
from stackplan.model.matcher import Matcher, read_matcher
from stackplan.model.regular import regular
from stackplan.model.secret import Secret, Text, Unread, passwords, reveal, shown, without_passwords
from stackplan.model.verdict import Verdict, conjunction, held, not_held, unknown

LONGEST_S = 300.0
_NUMBER = regular(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Http(ConditionKind):
    """A GET of an address, asked from the node, is answered with a status, a body, values in a JSON body.

    Asked with Python's standard library on the node, past the proxies of its environment, with the node's own trust in
    certificates. A redirect is not followed: 302 is the status, and where it leads is shown. `json` maps JSON pointers
    (RFC 6901: `/models/0/id`; the empty pointer is the whole document) to matchers; of a number, every spelling equals
    it (1, 1.0, 1e0). A refused connection, a name that
    does not exist, a certificate that is not trusted and no whole answer in time are facts: the condition does not
    hold. Nor does it where the answer is cut off, be it in its head, or leaves open what it is: a line of its head that
    is no header, a Content-Length that is no number, two that differ, one beside Transfer-Encoding, a head of more than
    100 headers or 256 KiB, or one over https that tells no length and that TLS does not end.
    Unknown is what says nothing of the server: a resolver that does not answer, a body over 5 MB, a body that is
    encoded otherwise than by gzip or deflate, JSON that is nested too deeply. A user and password in the address are
    sent, and shown nowhere.
    """

    recheck: ClassVar[Recheck] = Recheck.FINAL
    steady: ClassVar[bool] = False

    url: Text
    shown: str
    status: Matcher
    body: Matcher | None
    json: tuple[tuple[str, Matcher], ...]
    timeout_s: float

    @classmethod
    def read(cls, arguments: Arguments) -> Self:
        timeout_s = arguments.duration_s("timeout", 10.0)
        if not 0 < timeout_s <= LONGEST_S:
            raise arguments.invalid("timeout", "`timeout` is out of bounds", expected="more than 0s, at most 5m")
        return cls(
            url=_address(arguments),
            shown=without_passwords(shown(arguments.secret_text("url"))),
            status=read_matcher(arguments, "status") or Matcher(equals="200"),
            body=read_matcher(arguments, "body"),
            json=_pointers(arguments),
            timeout_s=timeout_s,
        )

    def describe(self) -> str:
        parts = [matching(self.shown, self.status).replace(" is ", " answers ", 1)]
        parts += [] if self.body is None else [matching("body", self.body)]
        parts += [matching(pointer or "the document", matcher) for pointer, matcher in self.json]
        return one_line(", ".join(parts))

    def queries(self) -> tuple[Query, ...]:
        return (self._query,)

    @property
    def alive_only(self) -> bool:
        return self.body is None and not self.json

    def evaluate(self, facts: Facts) -> Verdict:
        told = mapping(facts[self._query])
        if told is None:
            return unanswered(self.describe(), facts[self._query], expected=self.status.text)
        if told["failure"] is not None:
            return not_held(self.describe(), expected=self.status.text, observed=str(told["failure"]))
        status = self._of_status(told)
        # Of another answer than the one that was wanted, the body says nothing.
        parts = (status,) if not status.held else (status, *self._of_body(told), *self._of_values(told))
        return conjunction(self.describe(), parts)

    def _of_status(self, told: Mapping[str, Plain]) -> Verdict:
        text = f"{self.shown} answers {self.status.text}"
        observed = f"{told['status']} {told['reason'] or ''}".strip()
        if told["leads_to"] is not None:
            observed += f", which leads to {without_passwords(str(told['leads_to']))}"
        if self.status.accepts(str(told["status"])):
            return held(text, observed=observed)
        return not_held(text, expected=self.status.text, observed=one_line(observed))

    def _of_body(self, told: Mapping[str, Plain]) -> tuple[Verdict, ...]:
        if self.body is None:
            return ()
        text = f"body of {self.shown} {one_line(matching('', self.body).strip(), 80)}"
        if told["body_fault"] is not None:
            return (unknown(text, why=str(told["body_fault"]), expected=self.body.text),)
        body = str(told["body"])
        if self.body.accepts(body):
            return (held(text, observed="it matches"),)
        return (not_held(text, expected=self.body.text, observed=one_line(body) or "an empty body"),)

    def _of_values(self, told: Mapping[str, Plain]) -> tuple[Verdict, ...]:
        values = told["values"]
        assert isinstance(values, Mapping)
        wanted = "; ".join(matcher.text for _, matcher in self.json)
        if self.json and told["body_fault"] is not None:
            return (unknown(f"JSON of {self.shown}", why=str(told["body_fault"]), expected=wanted),)
        if self.json and told["json_fault"] is not None:
            observed = one_line(str(told["json_fault"]))
            return (not_held(f"JSON of {self.shown}", expected=wanted, observed=observed),)
        # Facts that were recorded earlier do not tell which values are numbers.
        numbers = told.get("numbers")
        known = frozenset(map(str, numbers)) if isinstance(numbers, list) else frozenset()
        return tuple(self._of_value(pointer, matcher, values, known) for pointer, matcher in self.json)

    def _of_value(
        self, pointer: str, matcher: Matcher, values: Mapping[str, Plain], numbers: frozenset[str]
    ) -> Verdict:
        text = f"{pointer or 'the document'} of {self.shown} {one_line(matching('', matcher).strip(), 80)}"
        if pointer not in values:
            return not_held(text, expected=matcher.text, observed=f"nothing at {pointer}")
        value = str(values[pointer])
        accepting = _of_number(matcher, value) if pointer in numbers else matcher
        if accepting.accepts(value):
            return held(text, observed=one_line(value, 80))
        return not_held(text, expected=matcher.text, observed=one_line(value) or "an empty text")

    @property
    def _query(self) -> Query:
        pointers = tuple(pointer for pointer, _ in self.json)
        asked = {"url": self.url, "timeout_s": self.timeout_s, "body": self.body is not None, "pointers": pointers}
        return Query("http", asked)


def _of_number(matcher: Matcher, value: str) -> Matcher:
    """Return a matcher for a number that the document spells so, whatever spelling of it the playbook has."""

    def spelled(text: str) -> str:
        return value if _one_number(text.strip(), value) else text

    equals = None if matcher.equals is None else spelled(matcher.equals)
    return replace(matcher, equals=equals, one_of=tuple(map(spelled, matcher.one_of)))


def _one_number(one: str, other: str) -> bool:
    if _NUMBER.fullmatch(one) is None or _NUMBER.fullmatch(other) is None:
        return False
    try:
        return Decimal(one) == Decimal(other)
    except DecimalException:
        # An exponent beyond all bounds; then only the same text is surely the same number.
        return False


def _address(arguments: Arguments) -> Text:
    """Return the address at `url`. Raise Invalid when it is none; one with a password is a secret."""
    url = arguments.secret_text("url")
    if isinstance(url, Unread):
        return url
    expected = "an address such as http://localhost:30000/health"
    try:
        parts = urllib.parse.urlsplit(reveal(url))
        whole = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        whole = False
    if whole and not _has_port(parts):
        summary, numbers = "the port of `url` is not a port's number", "a number from 1 to 65535"
        raise arguments.invalid("url", summary, expected=numbers)
    if not whole or any(ord(character) <= 32 for character in reveal(url)):
        raise arguments.invalid("url", "`url` is not an address of http or https", expected=expected)
    return Secret(url) if isinstance(url, str) and passwords(url) else url


def _has_port(parts: urllib.parse.SplitResult) -> bool:
    """Return whether the port of an address is one, or left out."""
    try:
        return parts.port is None or parts.port > 0
    except ValueError:
        return False


def _pointers(arguments: Arguments) -> tuple[tuple[str, Matcher], ...]:
    section = arguments.section("json")
    if section is None:
        return ()
    found = []
    for pointer in section.values:
        if pointer and not pointer.startswith("/"):
            expected = f"a JSON pointer such as {json.dumps('/' + pointer.lstrip('$.').replace('.', '/'))}"
            raise section.invalid(pointer, f"{pointer!r} in `json` is not a JSON pointer", expected=expected)
        matcher = read_matcher(section, pointer)
        if matcher is None:
            raise section.invalid(pointer, f"{pointer!r} in `json` states nothing", expected="a value or a matcher")
        found.append((pointer, matcher))
    return tuple(found)


KIND = Http
