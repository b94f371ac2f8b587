"""The head of an answer of HTTP/1, read strictly and within bounds (RFC 9112, 3 to 5); may import the standard library.

    HTTP/1.1 200 OK
    Content-Type: application/json
    Content-Length: 16

A head that breaks off is none, whatever status stands in it. A line that is no header makes the whole head worthless:
who skips it may miss the length or the encoding that stands behind it. Python's own parser drops all that follows.
"""

from __future__ import annotations

import re
from io import BufferedReader
from typing import NamedTuple

MOST_INTERIM = 50
MOST_HEADERS = 100
LARGEST_HEAD = 262_144
LONGEST_STATUS_LINE = 8192
_SWITCHING = 101
_SHOWN = 40
_BLANKS = (b" ", b"\t")
_PROTOCOL = b"HTTP/"
_STATUS_LINE = re.compile(rb"HTTP/1\.[0-9] +([1-9][0-9]{2})(?: +(.*))?", re.DOTALL)
_VERSION = re.compile(rb"HTTP/[0-9]+(?:\.[0-9]+)?(?= )")
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


class Malformed(Exception):
    """An answer that cannot be relied on; its text says why, for people.

    Malformed
    └── BrokenOff    the connection ends, or is cut, before the answer does
    """


class BrokenOff(Malformed):
    """An answer whose end has not come."""


class Field(NamedTuple):
    """A header: its name in small letters, its value as the bytes that were sent."""

    name: str
    value: bytes


class Head(NamedTuple):
    """Status, what stands behind it, and the headers in their order."""

    status: int
    reason: str
    fields: list[Field]

    def values(self, name: str) -> list[str] | None:
        """Return the elements of a header that is a list, in small letters; None where it is not there at all."""
        lines = [it.value for it in self.fields if it.name == name]
        return [escaped(part.strip(b" \t")).lower() for line in lines for part in line.split(b",")] if lines else None

    def first(self, name: str) -> str | None:
        """Return the value of the first header of this name."""
        return next((text(it.value) for it in self.fields if it.name == name), None)


def read_final_head(stream: BufferedReader) -> Head:
    """Return the head of the final answer, past interim ones (100, 102, 103). Raise Malformed."""
    for _ in range(MOST_INTERIM + 1):
        head = _read_head(stream)
        if not 100 <= head.status < 200 or head.status == _SWITCHING:
            return head
    raise Malformed(f"more than {MOST_INTERIM} interim answers ({head.status}) and no final one")


def _read_head(stream: BufferedReader) -> Head:
    # Looked at before a line is waited for: what speaks another protocol may never send the end of one.
    begin = stream.peek(1)[:_SHOWN]
    if not begin:
        raise BrokenOff("the connection is closed without an answer")
    if begin[: len(_PROTOCOL)] != _PROTOCOL[: len(begin)]:
        raise Malformed(_other_protocol(begin))
    line = _line(stream, LONGEST_STATUS_LINE, "its status line", LONGEST_STATUS_LINE)
    status, reason = _status(line)
    # The status line is the first one.
    fields = read_fields(stream, "its head", f"answers {status}, and ", first=2, room=LARGEST_HEAD - len(line))
    return Head(status, reason, fields)


def _other_protocol(begin: bytes) -> str:
    told = "what answers does not speak HTTP"
    # The kinds of record that a server begins with (RFC 8446, 5.1: an alert), and a frame of SETTINGS (RFC 9113, 6.5).
    if begin[:2] in (b"\x15\x03", b"\x16\x03"):
        return f"{told} but TLS (https)"
    if len(begin) >= 9 and begin[:2] == b"\0\0" and begin[3:9] == b"\4\0\0\0\0\0":
        return f"{told}/1 but HTTP/2 alone (as gRPC does)"
    return f"{told}: {shown(begin)}"


def _status(line: bytes) -> tuple[int, str]:
    found = _STATUS_LINE.fullmatch(line)
    if found is not None and not _CONTROL.search(line):
        return int(found.group(1)), text((found.group(2) or b"").strip(b" \t"))[:200]
    version = _VERSION.match(line)
    if version is not None and not version.group().startswith(b"HTTP/1."):
        raise Malformed(f"what answers does not speak HTTP/1: {shown(line)}")
    raise Malformed(f"what answers does not speak HTTP: its status line is {shown(line)}")


def read_fields(stream: BufferedReader, part: str, before: str, first: int, room: int) -> list[Field]:
    """Return header lines up to the empty one behind them, at most `room` bytes. Raise Malformed, BrokenOff.

    `part` says what they are, `before` what a message about one of them begins with, `first` the number of the first.
    """
    fields: list[Field] = []
    for number in range(first, first + MOST_HEADERS + 1):
        line = _line(stream, room, part)
        if not line:
            return fields
        room -= len(line) + 1
        if line[:1] in _BLANKS and fields and not _CONTROL.search(line):
            # A value that goes on in the next line (RFC 9112, 5.2): one blank for the break.
            last = fields.pop()
            fields.append(Field(last.name, last.value + b" " + line.strip(b" \t")))
            continue
        fault = _fault(line)
        if fault is not None:
            raise Malformed(f"{before}line {number} of {part} {fault}: {shown(line)}")
        name, _, value = line.partition(b":")
        fields.append(Field(name.decode("ascii").lower(), value.strip(b" \t")))
    raise Malformed(f"{part} is too long: more than {MOST_HEADERS} lines")


def _fault(line: bytes) -> str | None:
    name, colon, _ = line.partition(b":")
    if _CONTROL.search(line):
        return "has a control character"
    if not colon:
        return "is no header, without a colon"
    if name[-1:] in _BLANKS:
        return "is no header, with a blank before its colon"
    return None if _NAME.fullmatch(name) else "is no header, by its name"


def _line(stream: BufferedReader, longest: int, part: str, most: int = LARGEST_HEAD) -> bytes:
    """Return the next line without its end, if it has at most `longest` bytes. Raise Malformed, BrokenOff.

    `part` is what it belongs to, which may have `most` bytes.
    """
    line = stream.readline(max(longest, 0) + 1)
    if line.endswith(b"\n"):
        return line[:-2] if line.endswith(b"\r\n") else line[:-1]
    if len(line) > longest:
        raise Malformed(f"{part} is too long: it does not end within {most // 1024} KiB")
    raise BrokenOff("the answer breaks off in its head")


def text(value: bytes) -> str:
    """Return bytes of a head as a text: UTF-8, or else each byte a character, as old servers mean them."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("iso-8859-1")


def escaped(value: bytes) -> str:
    """Return bytes as printable ASCII, all others as escapes."""
    return "".join(chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}" for byte in value)


def shown(value: bytes) -> str:
    """Return the beginning of some bytes in quotes, for a message."""
    return f"'{escaped(value[:_SHOWN])}{'…' if len(value) > _SHOWN else ''}'"
