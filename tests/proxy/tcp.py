"""A TCP proxy on loopback that counts, delays and cuts.

    with Proxy(port) as proxy:
        connect to 127.0.0.1:proxy.port

`delay_s` is added to every piece of data in each direction, so a round trip takes twice as long. `cut()` resets every
open connection at once; `cut_after(n)` does so when n more bytes have come from the server and were passed on, or from
the client where `towards` is "server". `cuts` counts those of both that found a connection open.
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
    open: bool = True

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
        self.cuts = 0
        self._left = {}
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
            self._left = {}
            self.cuts += any(pipe.open for pipe in pipes)
        for pipe in pipes:
            pipe.reset()
        for pipe in pipes:
            for thread in pipe.threads:
                if thread is not threading.current_thread():
                    thread.join()

    @property
    def open(self):
        """Whether a connection is open now."""
        with self._lock:
            return any(pipe.open for pipe in self._pipes)

    def cut_after(self, count, towards="client"):
        """Reset every connection once `count` more bytes have been passed on that way."""
        with self._lock:
            self._left = {towards: count}

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
        for source, target, towards in ((pipe.client, pipe.server, "server"), (pipe.server, pipe.client, "client")):
            waiting = queue.SimpleQueue()
            pipe.threads.append(threading.Thread(target=self._read, args=(pipe, source, waiting, towards), daemon=True))
            pipe.threads.append(threading.Thread(target=self._deliver, args=(target, waiting), daemon=True))
        with self._lock:
            self._pipes.append(pipe)
            for thread in pipe.threads:
                thread.start()

    def _read(self, pipe, source, waiting, towards):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                passing = self._count(len(data), towards)
                waiting.put((time.monotonic() + self.delay_s, data[:passing]))
                if passing is not None:
                    waiting.put((time.monotonic() + self.delay_s, None))
                    return
        pipe.open = False
        waiting.put((time.monotonic() + self.delay_s, b""))

    def _count(self, size, towards):
        """Count, and return how many of the bytes are passed on before the cut; None: all, and there is none."""
        with self._lock:
            if towards == "server":
                self.bytes_to_server += size
            else:
                self.bytes_to_client += size
            if towards not in self._left:
                return None
            left = self._left[towards]
            self._left[towards] = left - size
            return max(0, left) if left <= size else None

    def _deliver(self, target, waiting):
        """Pass on what is waiting when it is due; None stands where the cut comes."""
        pause = threading.Event()
        with contextlib.suppress(OSError):
            while True:
                due, data = waiting.get()
                pause.wait(max(0.0, due - time.monotonic()))
                if data is None:
                    threading.Thread(target=self.cut, daemon=True).start()
                    return
                if not data:
                    target.shutdown(socket.SHUT_WR)
                    return
                target.sendall(data)
