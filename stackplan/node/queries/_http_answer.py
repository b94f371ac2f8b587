"""The final answer to one GET, read strictly and within bounds; what no client should guess at is Malformed.

Where a body ends is told by its length, by its pieces, or by the end of the connection (RFC 9112, 6.3). A length that
is no number, two lengths that differ, a length beside pieces, and pieces whose sizes are no numbers leave it open, so
nothing is compared with such a body. One that ends before that is BrokenOff.
"""

from __future__ import annotations

import re
from io import BufferedReader

from stackplan.node.queries._http_head import LARGEST_HEAD, BrokenOff, Head, Malformed, read_fields, shown

LONGEST_SIZE_LINE = 4096
_BODILESS = (101, 204, 304)
_LONGEST_LENGTH = 18
_SHOWN = 40
_LENGTH = re.compile(r"[0-9]+")
# The size, and behind it extensions that nobody uses (RFC 9112, 7.1.1).
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})(?:[ \t]*;[^\x00-\x08\x0a-\x1f\x7f]*)?")
_CUT = "the answer breaks off before its end"


def read_body(stream: BufferedReader, head: Head, limit: int) -> bytes:
    """Return the body as it was sent; of one that is longer `limit` + 1 bytes. Raise Malformed, BrokenOff."""
    length = _length(head)
    if head.status in _BODILESS:
        return b""
    if _in_pieces(head):
        return _pieces(stream, limit)
    if length is None:
        return stream.read(limit + 1)
    raw = stream.read(min(length, limit + 1))
    if len(raw) < min(length, limit + 1):
        raise BrokenOff(_CUT)
    return raw


def encodings(head: Head) -> list[str]:
    """Return what the body was encoded with, in the order in which that was done."""
    return [it for it in head.values("content-encoding") or [] if it not in ("", "identity")]


def _in_pieces(head: Head) -> bool:
    """Return whether the body comes in pieces. Raise Malformed where it comes in a form that is not read."""
    told = head.values("transfer-encoding")
    # Servers of old write `identity` for none at all (RFC 2616, 3.6).
    coding = [it for it in told or [] if it]
    if told is not None and coding not in (["chunked"], ["identity"]):
        raise Malformed(f"answers {head.status}, its body in an unknown form: {_told('Transfer-Encoding', told)}")
    return coding == ["chunked"]


def _length(head: Head) -> int | None:
    """Return what Content-Length tells; None where it is not there. Raise Malformed where it leaves the end open."""
    # `Content-Length: 5, 5` is the same as two lines of it.
    lengths = head.values("content-length")
    if lengths is None:
        return None
    if not all(map(_LENGTH.fullmatch, lengths)):
        raise Malformed(f"answers {head.status}, its length is no number: {_told('Content-Length', lengths)}")
    if len({it.lstrip("0") or "0" for it in lengths}) > 1:
        raise Malformed(f"answers {head.status} with two lengths: {_told('Content-Length', lengths)}")
    if len(lengths[0]) > _LONGEST_LENGTH:
        # A newer Python refuses to read a number of thousands of digits.
        raise Malformed(f"answers {head.status}, its length is none that is possible: {_cut(lengths[0])}")
    coding = head.values("transfer-encoding")
    if coding is not None:
        both = f"Content-Length: {_cut(lengths[0])} beside {_told('Transfer-Encoding', coding)}"
        raise Malformed(f"answers {head.status}, the end of its body told in two ways: {both}")
    return int(lengths[0])


def _told(name: str, values: list[str]) -> str:
    return f"{name}: {_cut(', '.join(values))}"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _pieces(stream: BufferedReader, limit: int) -> bytes:
    """Return a body that is sent in pieces (RFC 9112, 7.1): a size in hexadecimal digits, the bytes, a line's end.

    Behind the last piece, of size 0, come headers (a trailer) and an empty line. Without that line the size may be cut,
    too: `0` is also the beginning of `0a`.
    """
    body = bytearray()
    while True:
        left = _size(stream)
        if not left:
            break
        piece = stream.read(min(left, limit + 1 - len(body)))
        body += piece
        if len(body) > limit:
            return bytes(body)
        if len(piece) < left:
            raise BrokenOff(_CUT)
        _end_piece(stream)
    try:
        read_fields(stream, "the trailer of its body", "", first=1, room=LARGEST_HEAD)
    except BrokenOff as error:
        raise BrokenOff(_CUT) from error
    return bytes(body)


def _size(stream: BufferedReader) -> int:
    line = stream.readline(LONGEST_SIZE_LINE)
    if not line.endswith(b"\n"):
        if len(line) < LONGEST_SIZE_LINE:
            raise BrokenOff(_CUT)
        raise Malformed(f"its body comes in pieces, and the line of a size is too long: {shown(line)}")
    size = line[:-2] if line.endswith(b"\r\n") else line[:-1]
    found = _SIZE.fullmatch(size)
    if found is None:
        raise Malformed(f"its body comes in pieces, and the size of one is no number: {shown(size)}")
    return int(found.group(1), 16)


def _end_piece(stream: BufferedReader) -> None:
    end = stream.read(1)
    if end == b"\r":
        end = stream.read(1)
    if not end:
        raise BrokenOff(_CUT)
    if end != b"\n":
        raise Malformed("its body comes in pieces, and one is longer than its size says")
