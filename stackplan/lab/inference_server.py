"""A stand-in for an inference server on the lab's nodes: it loads no model, and answers as sglang and vLLM do.

Started as `PYTHON inference_server.py PORT FOLDER MODULE…` by the Python of an environment. It imports the modules, so
that an environment that does not fit ends it at its start, and then answers on loopback with the version of the first:
`/health`, `/version` (vLLM), `/get_server_info` (sglang), `/v1/models`. It ends when FOLDER is gone. Standard library
only.
"""

import importlib
import json
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


def main(port: str, folder: str, *modules: str) -> None:
    """Serve until the folder is gone or somebody ends the process."""
    loaded = [importlib.import_module(name) for name in modules]
    Handler.version = str(loaded[0].__version__)
    with HTTPServer(("127.0.0.1", int(port)), Handler) as server:
        server.timeout = _LOOK_EVERY_S
        while Path(folder).exists():
            server.handle_request()


if __name__ == "__main__":
    main(*sys.argv[1:])
