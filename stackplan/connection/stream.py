"""A duplex stream of bytes to a Python on a node, whatever carries it."""

from typing import Protocol


class StreamBroken(Exception):
    """The stream cannot be written or read any more; says why."""


class ByteStream(Protocol):
    """`execs` counts the commands that were started on the node for it."""

    execs: int

    def read(self, size: int, timeout_s: float) -> bytes:
        """Return what has come, up to `size` bytes; empty at the end. Raise TimeoutError, StreamBroken."""

    def write(self, data: bytes, timeout_s: float) -> None:
        """Write all of `data`. Raise TimeoutError when the other side takes nothing for that long, StreamBroken."""

    def close(self) -> None:
        """End the stream and what carries it; a second time does nothing."""

    def stderr_tail(self) -> str:
        """Return the last of what came on the side: errors of shells, of ssh, of sudo."""

    def exit_status(self) -> int | None:
        """Return the exit status of the carrying command once it has ended; None where there is none."""


class Tail:
    """Keeps the last bytes of a stream for error messages."""

    LIMIT = 16 * 1024

    def __init__(self) -> None:
        self._kept = bytearray()

    def add(self, data: bytes) -> None:
        self._kept += data
        del self._kept[: -self.LIMIT]

    def text(self) -> str:
        return self._kept.decode("utf-8", "replace").strip()
