"""The final answer to one GET, read strictly and within bounds; what no client should guess at is Malformed.

Interim answers (100 Continue, 102 Processing, 103 Early Hints) are passed over. A length that is no number, two lengths
that differ, and pieces whose sizes are no numbers leave it open where a body ends, so nothing is compared with it. A
server may compress a body that was asked for as it is: gzip and deflate are undone, any other encoding is said.
"""

from __future__ import annotations

import http.client
import re
import zlib
from typing import IO

MOST_INTERIM = 50
MOST_TRAILERS = 100
LONGEST_LINE = 65536
_SWITCHING = 101
_BODILESS = (204, 304)
_LONGEST_LENGTH = 18
_SHOWN = 40
_LENGTH = re.compile(r"[0-9]+")
_SIZE = re.compile(rb"[0-9A-Fa-f]{1,16}")
_ZLIB_OR_GZIP = 32 + zlib.MAX_WBITS
_COMPRESSED = frozenset({"gzip", "x-gzip", "deflate"})


class Malformed(http.client.HTTPException):
    """An answer of HTTP that cannot be relied on; its text says why, for people."""


class Undecodable(Exception):
    """A body in an encoding that is not read, or not in the one that its head names; its text says so."""


class FinalResponse(http.client.HTTPResponse):
    """A response whose `begin` passes over interim answers and refuses a head that leaves the body's end open."""

    def begin(self) -> None:
        for _ in range(MOST_INTERIM + 1):
            self._begin_next()
            if not 100 <= self.status < 200 or self.status == _SWITCHING:
                self._check_length()
                return
            # So told, the base class reads the next head.
            self.headers = self.msg = None  # type: ignore[assignment]
        raise Malformed(f"more than {MOST_INTERIM} interim answers ({self.status}) and no final one")

    def _begin_next(self) -> None:
        try:
            super().begin()
        except http.client.LineTooLong as error:
            raise Malformed(f"the head of the answer is too long: {error}") from error
        except http.client.HTTPException as error:
            if type(error) is http.client.HTTPException:
                raise Malformed(f"the head of the answer is too long: {error}") from error
            raise

    def _check_length(self) -> None:
        coding = self._values("Transfer-Encoding")
        if coding not in ([], ["chunked"], ["identity"]):
            raise Malformed(f"answers {self.status}, its body in an unknown form: {_told('Transfer-Encoding', coding)}")
        # `Content-Length: 5, 5` is the same as two lines of it.
        lengths = self._values("Content-Length")
        if coding == ["chunked"] or not lengths:
            return
        if not all(map(_LENGTH.fullmatch, lengths)):
            raise Malformed(f"answers {self.status}, its length is no number: {_told('Content-Length', lengths)}")
        if len({it.lstrip("0") or "0" for it in lengths}) > 1:
            raise Malformed(f"answers {self.status} with two lengths: {_told('Content-Length', lengths)}")
        if len(lengths[0]) > _LONGEST_LENGTH:
            # A newer Python refuses to read a number of thousands of digits.
            raise Malformed(f"answers {self.status}, its length is none that is possible: {_shown(lengths[0])}")
        if self.status not in _BODILESS:
            self.length = int(lengths[0])

    def encodings(self) -> list[str]:
        """Return what the body was encoded with, in the order in which that was done."""
        return [it for it in self._values("Content-Encoding") if it != "identity"]

    def body(self, limit: int) -> bytes:
        """Return the body as it was sent; of one that is longer `limit` + 1 bytes. Raise IncompleteRead, Malformed."""
        if self.chunked and self.length is None and self.fp is not None:
            return _pieces(self.fp, limit)
        raw = self.read(limit + 1)
        if self.length and len(raw) <= limit:
            raise http.client.IncompleteRead(b"", self.length)
        return raw

    def _values(self, name: str) -> list[str]:
        lines = self.headers.get_all(name) or []
        return [part.strip().lower() for line in lines for part in str(line).split(",")]


def _told(name: str, values: list[str]) -> str:
    return f"{name}: {_shown(', '.join(values))}"


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _pieces(stream: IO[bytes], limit: int) -> bytes:
    """Return a body that is sent in pieces (RFC 9112, 7.1): a size in hexadecimal digits, the bytes, a line's end.

    The base class takes `-5` for a size, and then reads without end.
    """
    body = bytearray()
    while True:
        line = _line(stream)
        size = line.partition(b";")[0].strip()
        if not _SIZE.fullmatch(size):
            shown = size[:_SHOWN].decode("ascii", "backslashreplace")
            raise Malformed(f"its body comes in pieces, and the size of one is no number: {shown!r}")
        left = int(size, 16)
        if not left:
            break
        piece = stream.read(min(left, limit + 1 - len(body)))
        body += piece
        if len(body) > limit:
            return bytes(body)
        if len(piece) < left:
            raise http.client.IncompleteRead(b"", left - len(piece))
        if _line(stream).strip():
            raise Malformed("its body comes in pieces, and one is longer than its size says")
    for _ in range(MOST_TRAILERS):
        # Some servers close behind the last piece.
        if not stream.readline(LONGEST_LINE).strip():
            return bytes(body)
    raise Malformed(f"more than {MOST_TRAILERS} lines follow its body")


def _line(stream: IO[bytes]) -> bytes:
    line = stream.readline(LONGEST_LINE)
    if not line:
        raise http.client.IncompleteRead(b"")
    return line


def decoded(raw: bytes, encodings: list[str], limit: int) -> bytes:
    """Return a body as it was before it was encoded; of one that is longer `limit` + 1 bytes. Raise Undecodable."""
    if not encodings:
        return raw
    if len(encodings) > 1 or encodings[0] not in _COMPRESSED:
        text = ", ".join(encodings)[:_SHOWN]
        raise Undecodable(f"the body is encoded ({text}), although it was asked for as it is, and that is not read")
    body = bytearray()
    while raw and len(body) <= limit:
        step = zlib.decompressobj(_ZLIB_OR_GZIP)
        try:
            body += step.decompress(raw, limit + 1 - len(body))
        except zlib.error as error:
            raise Undecodable(f"the body is said to be {encodings[0]} and cannot be read as that") from error
        if not step.eof and len(body) <= limit:
            raise Undecodable(f"the body is said to be {encodings[0]} and breaks off")
        # A gzip file may be followed by another one.
        raw = step.unused_data
    return bytes(body)
