"""A TCP proxy on loopback that counts, delays and cuts.

    with Proxy(port) as proxy:
        connect to 127.0.0.1:proxy.port

`delay_s` is added to every piece of data in each direction, so a round trip takes twice as long. `cut()` resets every
open connection at once; `cut_after(n)` does so when the server has sent n more bytes.
"""

import contextlib
import queue
import socket
import struct
import threading
import time
from dataclasses import dataclass, field


@dataclass
class _Pipe:
    client: socket.socket
    server: socket.socket
    threads: list[threading.Thread] = field(default_factory=list)

    def reset(self):
        """Close both ends so that the peers see a reset, as when a machine in between disappears."""
        for end in (self.client, self.server):
            with contextlib.suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


class Proxy:
    def __init__(self, target_port, *, delay_s=0.0):
        self.target_port = target_port
        self.delay_s = delay_s
        self.connections = 0
        self.bytes_to_server = 0
        self.bytes_to_client = 0
        self.accepting = True
        self._left = None
        self._pipes = []
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._acceptor = threading.Thread(target=self._accept, daemon=True)

    @property
    def port(self):
        return self._listener.getsockname()[1]

    def __enter__(self):
        self._acceptor.start()
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._acceptor.join()
        self._listener.close()
        self.cut()

    def cut(self):
        """Reset every connection that is open now; later ones are served."""
        with self._lock:
            pipes, self._pipes = self._pipes, []
            self._left = None
        for pipe in pipes:
            pipe.reset()
        for pipe in pipes:
            for thread in pipe.threads:
                if thread is not threading.current_thread():
                    thread.join()

    def cut_after(self, count):
        """Reset every connection once `count` more bytes have come from the server."""
        with self._lock:
            self._left = count

    def refuse(self):
        """From now on, close every new connection at once."""
        self.accepting = False

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            if not self.accepting:
                client.close()
                continue
            try:
                server = socket.create_connection(("127.0.0.1", self.target_port))
            except OSError:
                client.close()
                continue
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._connect(_Pipe(client, server))

    def _connect(self, pipe):
        for source, target, count in (
            (pipe.client, pipe.server, self._count_to_server),
            (pipe.server, pipe.client, self._count_to_client),
        ):
            waiting = queue.SimpleQueue()
            pipe.threads.append(threading.Thread(target=self._read, args=(source, waiting, count), daemon=True))
            pipe.threads.append(threading.Thread(target=_deliver, args=(target, waiting), daemon=True))
        with self._lock:
            self._pipes.append(pipe)
            for thread in pipe.threads:
                thread.start()

    def _read(self, source, waiting, count):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                waiting.put((time.monotonic() + self.delay_s, data))
                if count(len(data)):
                    threading.Thread(target=self.cut, daemon=True).start()
                    break
        waiting.put((time.monotonic() + self.delay_s, b""))

    def _count_to_server(self, size):
        self.bytes_to_server += size
        return False

    def _count_to_client(self, size):
        """Count, and return whether the moment for the cut has come."""
        self.bytes_to_client += size
        with self._lock:
            if self._left is None:
                return False
            self._left -= size
            return self._left <= 0


def _deliver(target, waiting):
    pause = threading.Event()
    with contextlib.suppress(OSError):
        while True:
            due, data = waiting.get()
            pause.wait(max(0.0, due - time.monotonic()))
            if not data:
                target.shutdown(socket.SHUT_WR)
                return
            target.sendall(data)
