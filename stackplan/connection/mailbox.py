"""Frames over a byte stream for several threads: each waits for the replies to its own request.

There is no reading thread. Whoever waits reads; if somebody reads already, he waits until that one hands him his frame
or leaves the reading to him.
"""

import threading
import time
from collections import deque
from typing import Any

from stackplan.connection.failure import ConnectionLost
from stackplan.connection.stream import ByteStream, StreamBroken
from stackplan.node.frames import Decoder, FrameInvalid, encode

_CHUNK = 1 << 18


class Mailbox:
    """Requests out, replies in. Once it is broken, every wait raises the same ConnectionLost."""

    def __init__(self, stream: ByteStream, decoder: Decoder, silence_s: float) -> None:
        self._stream = stream
        self._decoder = decoder
        self._silence_s = silence_s
        self._writing = threading.Lock()
        self._changed = threading.Condition(threading.RLock())
        self._reading = False
        self._last = 1
        self._boxes: dict[int, deque[dict[str, Any]]] = {}
        self._broken: str | None = None

    def post(self, request: dict[str, Any]) -> int:
        """Send a request and return its number. Raise ConnectionLost."""
        with self._writing:
            with self._changed:
                if self._broken is not None:
                    raise ConnectionLost(self._broken)
                self._last += 1
                number = self._last
                self._boxes[number] = deque()
            try:
                self._stream.write(encode({"id": number, **request}), self._silence_s)
            except StreamBroken as error:
                raise self._break(f"the connection was lost: {error}") from error
            except TimeoutError:
                raise self._break(f"the node took nothing for {self._silence_s:g} s") from None
            except BaseException:
                # Half a frame may be out: nothing that follows would be understood.
                self._break("the connection was left in the middle of a request")
                raise
        return number

    def take(self, number: int, until: float | None = None) -> dict[str, Any] | None:
        """Wait for the next reply to a request; None when there is none at the time `until`. Raise ConnectionLost.

        The time is looked at whenever something comes, which on a living connection is every few seconds.
        """
        while True:
            with self._changed:
                while True:
                    if self._boxes[number]:
                        return self._boxes[number].popleft()
                    if self._broken is not None:
                        raise ConnectionLost(self._broken)
                    if until is not None and time.monotonic() >= until:
                        return None
                    if not self._reading:
                        self._reading = True
                        break
                    self._changed.wait()
            try:
                frames = self._read()
            finally:
                with self._changed:
                    self._reading = False
                    self._changed.notify_all()
            self.deliver(frames)

    def close_box(self, number: int) -> None:
        """Forget a request; what still comes for it is dropped."""
        with self._changed:
            self._boxes.pop(number, None)

    def deliver(self, frames: list[Any]) -> None:
        """Put frames into the boxes of their requests. Raise ConnectionLost for one that nobody asked for."""
        with self._changed:
            for frame in frames:
                number = frame.get("id") if isinstance(frame, dict) else None
                if number in self._boxes:
                    self._boxes[number].append(frame)
                elif number == 0 and "error" in frame:
                    raise self._break(f"the node program could not read a request: {frame['error']}")
                elif not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= self._last:
                    raise self._break(f"what came is no reply of the node program: {str(frame)[:200]}")
            self._changed.notify_all()

    def _read(self) -> list[Any]:
        """Read what comes next. Raise ConnectionLost at the end, and after a silence that no living program keeps."""
        try:
            data = self._stream.read(_CHUNK, self._silence_s)
            if data:
                return self._decoder.feed(data)
        except TimeoutError:
            raise self._break(f"nothing was heard of the node for {self._silence_s:g} s") from None
        except StreamBroken as error:
            raise self._break(f"the connection was lost: {error}") from error
        except FrameInvalid as error:
            raise self._break(f"what came is no frame of the node program: {error.why}: {error.seen!r}") from error
        words = self._stream.stderr_tail().splitlines()
        raise self._break("the connection was cut" + (f": {words[-1]}" if words else ""))

    def _break(self, why: str) -> ConnectionLost:
        with self._changed:
            if self._broken is None:
                self._broken = why
            self._changed.notify_all()
            return ConnectionLost(self._broken)
