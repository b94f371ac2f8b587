"""A pair of descriptors that carries frames both ways and never blocks."""

from __future__ import annotations

import os
from typing import Any

from stackplan.node.frames import Decoder, encode

_CHUNK = 256 * 1024


class Channel:
    """Frames over two descriptors. `ended`: the other side is gone. `backlog`: bytes that still wait to be written."""

    def __init__(self, reader: int, writer: int) -> None:
        self.reader = reader
        self.writer = writer
        self.ended = False
        self._decoder = Decoder()
        self._outgoing = bytearray()
        os.set_blocking(reader, False)
        os.set_blocking(writer, False)

    @property
    def backlog(self) -> int:
        return len(self._outgoing)

    def receive(self) -> list[Any]:
        """Return the values that have come; empty when there are none. Raise FrameInvalid for what is no frame."""
        try:
            data = os.read(self.reader, _CHUNK)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        if not data:
            self.ended = True
            return []
        return self._decoder.feed(data)

    def feed(self, data: bytes) -> list[Any]:
        """Return the values that `data`, read elsewhere, completes."""
        return self._decoder.feed(data)

    def send(self, value: Any) -> None:
        self.send_bytes(encode(value))

    def send_bytes(self, data: bytes) -> None:
        self._outgoing += data
        self.flush()

    def flush(self) -> None:
        """Write as much as the other side takes."""
        while self._outgoing and not self.ended:
            try:
                written = os.write(self.writer, self._outgoing[:_CHUNK])
            except BlockingIOError:
                return
            except OSError:
                self.ended = True
                return
            del self._outgoing[:written]

    def close(self) -> None:
        for descriptor in {self.reader, self.writer}:
            os.close(descriptor)
