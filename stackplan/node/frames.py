"""The frames of the wire: 4 bytes of length, big endian, then JSON in UTF-8. Both ends import this one file.

Pure: bytes in, values out. Whoever has the stream feeds a `Decoder`.
"""

from __future__ import annotations

import json
import struct
from typing import Any

LIMIT = 64 * 1024 * 1024
_LENGTH = struct.Struct(">I")


class FrameInvalid(Exception):
    """What came is no frame: a length beyond all bounds, or no JSON. `seen` is how it began."""

    def __init__(self, why: str, seen: bytes) -> None:
        super().__init__(why)
        self.why = why
        self.seen = seen


def encode(value: Any) -> bytes:
    """Return the frame of a JSON value. Raise FrameInvalid when it would be longer than `LIMIT`.

    A lone surrogate (a file name that is not UTF-8) travels as a JSON escape and arrives as it was.
    """
    body = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode("ascii")
    if len(body) > LIMIT:
        raise FrameInvalid(f"a frame of {len(body)} bytes is longer than {LIMIT}", body[:80])
    return _LENGTH.pack(len(body)) + body


class Decoder:
    """Takes bytes as they come and gives back the values that are complete."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._pending = bytearray()

    @property
    def pending(self) -> bytes:
        """What has come of a frame that is not complete yet."""
        return bytes(self._pending)

    def feed(self, data: bytes) -> list[Any]:
        """Return the values that `data` completes, in order. Raise FrameInvalid; the decoder is then of no more use."""
        self._pending += data
        found: list[Any] = []
        while len(self._pending) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._pending)
            if length > self._limit:
                raise FrameInvalid(f"a frame claims {length} bytes, more than {self._limit}", bytes(self._pending[:80]))
            end = _LENGTH.size + length
            if len(self._pending) < end:
                break
            body = bytes(self._pending[_LENGTH.size : end])
            del self._pending[:end]
            found.append(_value(body))
        return found


def _value(body: bytes) -> Any:
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        # Of a number of thousands of digits Python gives advice to who programs in it.
        why = "a number has thousands of digits" if type(error) is ValueError else str(error)
        raise FrameInvalid(f"a frame is not JSON: {why}", body[:80]) from error


def _no_constant(word: str) -> Any:
    raise FrameInvalid(f"a frame is not JSON: {word} is no JSON value", word.encode())
