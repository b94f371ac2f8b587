"""A connection on which one GET was asked, open for its answer to be read; may import the standard library.

Names are looked up, all addresses of one are tried, and certificates are checked against the node's own.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import io
import socket
import ssl
import threading
import time
import urllib.parse
from io import BufferedReader
from typing import Any, Iterator

from stackplan.node.context import CannotTell
from stackplan.node.queries._http_head import BrokenOff

_PORTS = {"http": 80, "https": 443}
_UNQUOTED = "/?&=%:@!$'()*+,;~-._"


class NotInTime(socket.timeout):
    """The time was up once the server was connected to and asked; `received` bytes of an answer had come by then."""

    def __init__(self, received: int) -> None:
        super().__init__("not in time")
        self.received = received


class NotSecured(socket.timeout):
    """The time was up once the server was connected to, while TLS was to be agreed on."""


class _Counted(io.RawIOBase):
    """The bytes of a socket as they come, counted."""

    def __init__(self, channel: socket.socket) -> None:
        self._source = channel.makefile("rb", buffering=0)
        self.received = 0

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int | None:
        count = self._source.readinto(room)
        self.received += count or 0
        return count

    def close(self) -> None:
        self._source.close()
        super().close()


def _buffered(raw: Any) -> BufferedReader:
    return BufferedReader(raw)


@contextlib.contextmanager
def opened(url: str, limit_s: float) -> Iterator[BufferedReader]:
    """Yield the stream that the answer to a GET of `url` comes from; all of it together may take `limit_s`.

    Raise CannotTell for another scheme, socket.timeout for what takes longer (NotSecured while TLS was begun, NotInTime
    once the server was asked), and what else keeps an answer away.
    """
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise CannotTell("the address is neither http nor https")
    deadline = time.monotonic() + limit_s
    port = parts.port or _PORTS[parts.scheme]
    with contextlib.closing(_connected(parts.hostname, port, deadline)) as plain:
        plain.settimeout(_left_s(deadline))
        channel = _secured(plain, parts.hostname, deadline) if parts.scheme == "https" else plain
        # A server that sends a byte a second would never run into the limit of a single read.
        with contextlib.closing(channel):
            counted = _Counted(channel)
            try:
                with _cut_at(deadline, channel), _ended_by_tls(), _buffered(counted) as stream:
                    _ask(channel, parts, port)
                    yield stream
            except socket.timeout as error:
                raise NotInTime(counted.received) from error


def _connected(host: str, port: int, deadline: float) -> socket.socket:
    """Return a connection to the first of the host's addresses that takes one."""
    places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    why: OSError | None = None
    for after, (family, kind, protocol, _, address) in zip(range(len(places) - 1, -1, -1), places):
        with contextlib.ExitStack() as unless_connected:
            try:
                connection = unless_connected.enter_context(socket.socket(family, kind, protocol))
                left_s = _left_s(deadline)
                # One that never answers leaves time for those that come after it.
                connection.settimeout(left_s / 2 if after else left_s)
                connection.connect(address)
            except OSError as error:
                why = error
                continue
            unless_connected.pop_all()
            return connection
    assert why is not None
    raise why


def _secured(plain: socket.socket, host: str, deadline: float) -> ssl.SSLSocket:
    # The end of a connection that TLS did not end itself may be anybody's doing, and what was to come after it missing.
    channel = ssl.create_default_context().wrap_socket(
        plain, server_hostname=host, suppress_ragged_eofs=False, do_handshake_on_connect=False
    )
    with contextlib.ExitStack() as unless_secured:
        unless_secured.callback(channel.close)
        try:
            with _cut_at(deadline, channel):
                channel.do_handshake()
        except socket.timeout as error:
            raise NotSecured from error
        unless_secured.pop_all()
    return channel


def _left_s(deadline: float) -> float:
    left_s = deadline - time.monotonic()
    if left_s <= 0:
        raise socket.timeout
    return left_s


@contextlib.contextmanager
def _ended_by_tls() -> Iterator[None]:
    try:
        yield
    except ssl.SSLEOFError as error:
        raise BrokenOff(
            "the connection breaks off: TLS did not end it, and the answer does not tell its end"
        ) from error


def _ask(channel: socket.socket, parts: urllib.parse.SplitResult, port: int) -> None:
    headers = {"User-Agent": "stackplan", "Accept": "*/*", "Accept-Encoding": "identity", "Connection": "close"}
    user = parts.netloc.rpartition("@")[0]
    if user:
        plain = urllib.parse.unquote(user)
        credentials = (plain if ":" in plain else f"{plain}:").encode()
        headers["Authorization"] = "Basic " + base64.b64encode(credentials).decode("ascii")
    target = urllib.parse.urlunsplit(("", "", parts.path or "/", parts.query, ""))
    assert parts.hostname is not None
    writer = http.client.HTTPConnection(parts.hostname, port)
    # It leaves a port of 80 out by itself.
    writer.default_port = _PORTS[parts.scheme]
    writer.sock = channel
    writer.request("GET", urllib.parse.quote(target, safe=_UNQUOTED), headers=headers)


@contextlib.contextmanager
def _cut_at(deadline: float, channel: socket.socket) -> Iterator[None]:
    """End a connection that takes too long, from another thread; what is made of that is socket.timeout."""
    made = threading.Event()

    def cut() -> None:
        made.set()
        with contextlib.suppress(OSError):
            # That of a TLS socket would take its TLS away under the thread that reads.
            socket.socket.shutdown(channel, socket.SHUT_RDWR)

    timer = threading.Timer(_left_s(deadline), cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    except Exception as error:
        if made.is_set():
            raise socket.timeout from error
        raise
    finally:
        timer.cancel()
    if made.is_set():
        raise socket.timeout
