"""The lab's package index: for each channel a simple repository (PEP 503, with hashes), and the runfile."""

import html
import threading
from collections.abc import Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from stackplan.lab import runfile
from stackplan.lab.wheels import Wheel


def pages(channels: Mapping[str, Iterable[Wheel]]) -> dict[str, bytes]:
    """Return what is served by path: for each channel a page of projects, a page a project, and the files."""
    served = {f"/files/{runfile.NAME}": runfile.CONTENT}
    for channel, wheels in channels.items():
        projects: dict[str, list[Wheel]] = {}
        for wheel in wheels:
            projects.setdefault(wheel.name, []).append(wheel)
            served[f"/{channel}/files/{wheel.filename}"] = wheel.content
        served[f"/{channel}/"] = _page((f"/{channel}/{name}/", name) for name in sorted(projects))
        for name, builds in projects.items():
            links = ((_href(channel, wheel), wheel.filename) for wheel in builds)
            served[f"/{channel}/{name}/"] = _page(links)
    return served


def _href(channel: str, wheel: Wheel) -> str:
    return f"/{channel}/files/{wheel.filename.replace('+', '%2B')}#sha256={wheel.sha256}"


def _page(links: Iterable[tuple[str, str]]) -> bytes:
    lines = [f'<a href="{html.escape(target)}">{html.escape(text)}</a><br>' for target, text in links]
    return ("<!DOCTYPE html>\n<html><body>\n" + "\n".join(lines) + "\n</body></html>\n").encode()


class Index:
    """Serves `pages` on a free loopback port from `with` on; `requests` are the paths that were asked for, in order."""

    def __init__(self, served: Mapping[str, bytes]) -> None:
        self.requests: list[str] = []
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.served = served
        self._server.requests = self.requests
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="lab index", daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    served: Mapping[str, bytes]
    requests: list[str]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # An idle keep-alive connection must not hold up the end of the lab.
    timeout = 5
    server: _Server

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def _answer(self, *, body: bool) -> None:
        path = self.path.partition("?")[0].replace("%2B", "+")
        self.server.requests.append(path)
        content = self.server.served.get(path) or self.server.served.get(path + "/")
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header(
            "Content-Type", "text/html" if content.startswith(b"<!DOCTYPE") else "application/octet-stream"
        )
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, *arguments: object) -> None:
        """Say nothing: the requests are counted, not printed."""
