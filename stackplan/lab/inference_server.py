"""A stand-in for an inference server on the lab's nodes: it loads no model, and answers as sglang and vLLM do.

Started as `PYTHON inference_server.py PORT FOLDER MODULE…` by the Python of an environment. It imports the modules, so
that an environment that does not fit ends it at its start, and then answers on loopback with the version of the first:
`/health`, `/version` (vLLM), `/get_server_info` (sglang), `/v1/models`. Where another program has the port it ends in
the words of uvicorn, which serves both. It ends when FOLDER is gone. Standard library only.
"""

import errno
import importlib
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

_LOOK_EVERY_S = 0.2


def answers(version: str) -> dict[str, object]:
    """Return what is answered by path."""
    told = {"version": version}
    return {"/health": {}, "/version": told, "/get_server_info": told, "/v1/models": {"data": [{"id": "stand-in"}]}}


class Handler(BaseHTTPRequestHandler):
    version = ""

    def do_GET(self) -> None:
        body = answers(self.version).get(self.path)
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Type", "application/json")
        content = json.dumps(body).encode()
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments: object) -> None:
        """Say nothing: nobody reads it."""


def main(port: str, folder: str, *modules: str) -> int:
    """Serve until the folder is gone or somebody ends the process; return 1 where the port is taken."""
    loaded = [importlib.import_module(name) for name in modules]
    Handler.version = str(loaded[0].__version__)
    address = ("127.0.0.1", int(port))
    try:
        server = HTTPServer(address, Handler)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        why = os.strerror(error.errno).lower()
        sys.stderr.write(
            f"ERROR:    [Errno {error.errno}] error while attempting to bind on address {address}: {why}\n"
        )
        return 1
    with server:
        server.timeout = _LOOK_EVERY_S
        while Path(folder).exists():
            server.handle_request()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
