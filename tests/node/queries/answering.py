"""A server on loopback that sends the very bytes it was told to, whatever it is asked."""

import contextlib
import socket
import threading


class Server:
    """Answers every connection with `answer`, and then with `forever` for as long as somebody reads it.

    With `hold` it says nothing more and leaves the connection open until the other side ends it.
    """

    def __init__(self):
        self.answer, self.forever, self.hold = (), b"", False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/"
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                peer, _ = self._listener.accept()
                with peer, contextlib.suppress(OSError):
                    # One that was cut off may leave its window closed, and then nothing says that it is gone.
                    peer.settimeout(20 if self.hold else 0.5)
                    peer.recv(65536)
                    peer.sendall(b"".join(self.answer))
                    while self.hold and peer.recv(65536):
                        pass
                    while self.forever:
                        peer.sendall(self.forever)

    def close(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()
