"""A byte stream to a program that runs here: the node program itself, `ssh`, `kubectl exec`, `docker exec`."""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence

from stackplan.connection.failure import NodeUnreachable
from stackplan.connection.stream import StreamBroken, Tail

_CHUNK = 1 << 16
_PARTING_S = 2.0


class ProcessStream:
    """Speaks to a child process over its standard streams, in a session of its own, which Ctrl-C does not reach."""

    def __init__(self, argv: Sequence[str]) -> None:
        """Start `argv`. Raise NodeUnreachable when there is no such program."""
        try:
            self._process = subprocess.Popen(
                list(argv),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise NodeUnreachable(
                f"`{argv[0]}` cannot be started here: {error.strerror}", "install it, or use another `connection`"
            ) from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._stdin, self._stdout, self._stderr = self._process.stdin, self._process.stdout, self._process.stderr
        os.set_blocking(self._stdin.fileno(), False)
        self._incoming = bytearray()
        self._tail = Tail()
        self._open = {self._stdout.fileno(), self._stderr.fileno()}
        self._closed = False
        self.execs = 1

    def read(self, size: int, timeout_s: float) -> bytes:
        deadline = time.monotonic() + timeout_s
        while not self._incoming:
            if self._closed or self._stdout.closed or self._stdout.fileno() not in self._open:
                return b""
            self._wait(deadline, [])
        data = bytes(self._incoming[:size])
        del self._incoming[:size]
        return data

    def write(self, data: bytes, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        view = memoryview(data)
        while view:
            if self._closed:
                raise StreamBroken("the stream was closed")
            try:
                written = os.write(self._stdin.fileno(), view[:_CHUNK])
            except BlockingIOError:
                # Whoever does not take may be waiting to give: a profile that prints a lot before the program starts.
                self._wait(deadline, [self._stdin.fileno()])
                continue
            except (OSError, ValueError) as error:
                raise StreamBroken(f"writing failed: {error}") from error
            deadline = time.monotonic() + timeout_s
            view = view[written:]

    def _wait(self, deadline: float, writers: list[int]) -> None:
        """Wait for any side to move, taking in what comes. Raise TimeoutError at the deadline."""
        try:
            ready, writable, _ = select.select(list(self._open), writers, [], max(0.0, deadline - time.monotonic()))
            for descriptor in ready:
                self._take_in(descriptor, os.read(descriptor, _CHUNK))
        except (OSError, ValueError) as error:
            # Another thread may have closed the stream meanwhile.
            raise StreamBroken(f"reading failed: {error}") from error
        if not ready and not writable:
            raise TimeoutError

    def _take_in(self, descriptor: int, data: bytes) -> None:
        if not data:
            self._open.discard(descriptor)
        elif descriptor == self._stdout.fileno():
            self._incoming += data
        else:
            self._tail.add(data)

    def stderr_tail(self) -> str:
        descriptor = self._stderr.fileno() if not self._closed else -1
        while descriptor in self._open and select.select([descriptor], [], [], 0)[0]:
            data = os.read(descriptor, _CHUNK)
            if not data:
                self._open.discard(descriptor)
            self._tail.add(data)
        return self._tail.text()

    def exit_status(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(_PARTING_S)
        return None

    def close(self) -> None:
        """Close the child's standard input, which ends the node program, and see it off; kill what stays."""
        if self._closed:
            return
        self.stderr_tail()
        self._closed = True
        for stream in (self._stdin, self._stdout, self._stderr):
            with contextlib.suppress(OSError):
                stream.close()
        try:
            self._process.wait(_PARTING_S)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
