"""A web server on loopback whose every answer a test chooses."""

import http.server
import threading

import pytest


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers with what `server.answers` holds for the path; the last answer of a list goes on for ever."""

    def do_GET(self):
        self.server.requests.append((self.path, dict(self.headers)))
        answers = self.server.answers.get(self.path, [{"status": 404}])
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        body, status, headers = answer.get("body", b""), answer.get("status", 200), dict(answer.get("headers", {}))
        begin = self.headers.get("Range")
        if begin and answer.get("ranges", True) and status == 200:
            offset = int(begin.removeprefix("bytes=").removesuffix("-"))
            status, body = (206, body[offset:]) if offset < len(body) else (416, b"")
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        # A transfer that is cut: less comes than was announced, then the connection ends.
        self.wfile.write(body[: answer.get("cut", len(body))])
        self.close_connection = True

    def log_message(self, *about):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = False

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = {}
        self.requests = []

    def url(self, path, user=""):
        return f"http://{user}127.0.0.1:{self.server_address[1]}{path}"


@pytest.fixture
def web(monkeypatch):
    """Yield a server; `answers` by path are dicts of body, status, headers, cut (bytes sent), ranges (supported)."""
    monkeypatch.setenv("no_proxy", "*")
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
