"""What a body was before it was encoded; may import the standard library.

A server may encode a body that was asked for as it is. gzip and deflate are undone, one behind the other where several
are named; any other encoding is said. `deflate` is zlib's format (RFC 9110, 8.4.1.2), and with many servers the bare
one.
"""

from __future__ import annotations

import contextlib
import zlib

MOST_ENCODINGS = 3
_GZIP = 16 + zlib.MAX_WBITS
_ZLIB = zlib.MAX_WBITS
_BARE = -zlib.MAX_WBITS
_FORMS = {"gzip": (_GZIP,), "x-gzip": (_GZIP,), "deflate": (_ZLIB, _BARE)}
_BLOCK = 4096
_SHOWN = 40


class Undecodable(Exception):
    """A body in an encoding that is not read, or not in the one that its head names; its text says so."""


class _Other(Exception):
    """These bytes are of another form; the text says what is wrong."""


def decoded(raw: bytes, encodings: list[str], limit: int) -> bytes:
    """Return a body as it was before it was encoded; of one that is longer `limit` + 1 bytes. Raise Undecodable.

    `encodings` are in the order in which they were applied.
    """
    if len(encodings) > MOST_ENCODINGS or not _FORMS.keys() >= set(encodings):
        text = ", ".join(encodings)
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
        raise Undecodable(f"the body is encoded ({shown}), although it was asked for as it is, and that is not read")
    for encoding in reversed(encodings):
        # An empty body is not encoded by anybody.
        raw = _undone(raw, encoding, limit) if raw else raw
        if len(raw) > limit:
            break
    return raw


def _undone(raw: bytes, encoding: str, limit: int) -> bytes:
    first, *others = _FORMS[encoding]
    try:
        return _read(raw, first, limit)
    except _Other as error:
        for form in others:
            with contextlib.suppress(_Other):
                return _read(raw, form, limit)
        raise Undecodable(f"the body is said to be {encoding} and {error}") from error


def _read(raw: bytes, form: int, limit: int) -> bytes:
    body = bytearray()
    at = 0
    while at < len(raw):
        step = zlib.decompressobj(form)
        while not step.eof:
            # Block by block: what is left behind the end is copied, and there may be very many ends.
            block = raw[at : at + _BLOCK]
            if not block:
                raise _Other("breaks off")
            try:
                body += step.decompress(block, limit + 1 - len(body))
            except zlib.error as error:
                raise _Other("cannot be read as that") from error
            if len(body) > limit:
                return bytes(body)
            at += len(block) - len(step.unused_data)
        # A gzip file may be followed by another one, the others may not.
        if form != _GZIP and at < len(raw):
            raise _Other("has something behind its end")
    return bytes(body)
