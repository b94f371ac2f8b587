"""What an address of http or https answers to one GET from the node.

Asked with `{"url": …, "timeout_s": 10, "body": false, "pointers": ["/status"]}`. The answer is `{"status", "reason",
"leads_to", "failure", "body", "body_fault", "values", "numbers", "json_fault"}`. `failure` says in words why there was
no answer (`status` is then null): connection refused, no such name, a certificate that is not trusted, no answer in
time.
`leads_to` is where a redirect leads; it is not followed. `body` is the text when it was asked for. `values` are what
the JSON pointers (RFC 6901) lead to, as text, by pointer; a pointer that leads nowhere is missing. `numbers` are the
pointers among them that lead to a number; a text that looks like one is none. `body_fault` says that the body is larger
than what is read of it, encoded in a way that is not read, or its JSON nested too deeply; `json_fault` that it is no
JSON.

Proxies of the node's environment are not used: the node itself is what asks. Certificates are checked against the
node's own. A resolver that does not answer, or a shortage of the node's own, is no answer at all: ProbeFailed.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import http.client
import json
import re
import socket
import ssl
import threading
import urllib.parse
from typing import Any, Iterator

from stackplan.node.context import CannotTell, Context, ProbeFailed
from stackplan.node.queries._http_answer import FinalResponse, Malformed, Undecodable, decoded

BODY_LIMIT = 5_000_000
_TOO_DEEP = "the body's JSON is nested too deeply to be read"
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")
_SHORTAGE = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS, errno.EADDRNOTAVAIL, errno.EPERM)


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:  # noqa: ARG001 - every query has this form
    told: dict[str, Any] = {"status": None, "reason": None, "leads_to": None, "failure": None}
    told.update(body=None, body_fault=None, values={}, numbers=[], json_fault=None)
    limit_s = float(arguments.get("timeout_s") or 10.0)
    pointers = [str(it) for it in arguments.get("pointers") or []]
    try:
        with _response(str(arguments["url"]), limit_s) as response:
            # Read also where nobody asks for the body: an answer that breaks off is none.
            raw = response.body(BODY_LIMIT)
            encodings = response.encodings()
            told.update(status=response.status, reason=response.reason or None)
            told["leads_to"] = response.getheader("Location") if 300 <= response.status < 400 else None
    except (OSError, http.client.HTTPException, ValueError) as error:
        return {**told, "status": None, "reason": None, "failure": why(error, limit_s)}
    try:
        raw = decoded(raw, encodings, BODY_LIMIT) if len(raw) <= BODY_LIMIT else raw
    except Undecodable as error:
        return {**told, "body_fault": str(error)}
    if len(raw) > BODY_LIMIT:
        return {**told, "body_fault": f"the body is larger than {BODY_LIMIT // 1_000_000} MB"}
    if arguments.get("body"):
        told["body"] = raw.decode("utf-8", "replace")
    if pointers:
        told.update(_values(raw, pointers))
    return told


@contextlib.contextmanager
def _response(url: str, limit_s: float) -> Iterator[FinalResponse]:
    """Yield the open response to a GET of `url`; all of it together may take `limit_s`."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise CannotTell("the address is neither http nor https")
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        trust = ssl.create_default_context()
        connection = http.client.HTTPSConnection(parts.hostname, parts.port, timeout=limit_s, context=trust)
    else:
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=limit_s)
    connection.response_class = FinalResponse
    headers = {"User-Agent": "stackplan", "Accept": "*/*", "Accept-Encoding": "identity", "Connection": "close"}
    user = parts.netloc.rpartition("@")[0]
    if user:
        plain = urllib.parse.unquote(user)
        credentials = (plain if ":" in plain else f"{plain}:").encode()
        headers["Authorization"] = "Basic " + base64.b64encode(credentials).decode("ascii")
    target = urllib.parse.urlunsplit(("", "", parts.path or "/", parts.query, ""))
    cut = _Cut()
    # A server that sends a byte a second would never run into the limit of a single read.
    timer = threading.Timer(limit_s, cut)
    timer.daemon = True
    try:
        connection.connect()
        # Held apart: a response whose connection will close takes the socket over.
        cut.socket = connection.sock
        timer.start()
        connection.request("GET", urllib.parse.quote(target, safe="/?&=%:@!$'()*+,;~-._"), headers=headers)
        response = connection.getresponse()
        assert isinstance(response, FinalResponse)
        # It has the socket now, and keeps it open as long as it lives itself.
        with contextlib.closing(response):
            yield response
    except (OSError, http.client.HTTPException, ValueError) as error:
        if cut.made:
            raise socket.timeout from error
        raise
    finally:
        timer.cancel()
        connection.close()
    if cut.made:
        raise socket.timeout


class _Cut:
    """Ends a connection that takes too long, from another thread."""

    def __init__(self) -> None:
        self.made = False
        self.socket: socket.socket | None = None

    def __call__(self) -> None:
        self.made = True
        with contextlib.suppress(OSError):
            if self.socket is not None:
                self.socket.shutdown(socket.SHUT_RDWR)


def why(error: Exception, limit_s: float) -> str:
    """Return in words why there was no answer. Raise ProbeFailed where that says nothing of the server."""
    if (
        isinstance(error, OSError)
        and error.errno in _SHORTAGE
        and not isinstance(error, (ssl.SSLError, socket.gaierror))
    ):
        raise ProbeFailed(f"the node cannot connect: {error.strerror}") from error
    if isinstance(error, socket.timeout):
        return f"no whole answer within {limit_s:g} s"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"no TLS: {error.reason or error}"
    if isinstance(error, socket.gaierror):
        if error.errno in (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", None)):
            return "the node knows no such name"
        raise ProbeFailed(f"the name could not be looked up: {error.strerror}") from error
    if isinstance(error, http.client.HTTPException):
        return _why_no_http(error)
    return (getattr(error, "strerror", None) or str(error)).lower()


def _why_no_http(error: http.client.HTTPException) -> str:
    if isinstance(error, Malformed):
        return str(error)
    if isinstance(error, http.client.RemoteDisconnected):
        return "the connection is closed without an answer"
    if isinstance(error, http.client.IncompleteRead):
        return "the answer breaks off before its end"
    return f"what answers does not speak HTTP: {type(error).__name__} {error}".strip()[:200]


def _values(raw: bytes, pointers: list[str]) -> dict[str, Any]:
    try:
        document = json.loads(raw.decode("utf-8"), parse_float=_Literal, parse_int=_Literal)
    except ValueError as error:
        return {"json_fault": f"the body is no JSON: {error}"}
    except RecursionError:
        return {"body_fault": _TOO_DEEP}
    found = {pointer: resolve(document, pointer) for pointer in pointers}
    numbers = [pointer for pointer, value in found.items() if isinstance(value, _Literal)]
    try:
        values = {pointer: text(value) for pointer, value in found.items() if value is not _NOTHING}
    except RecursionError:
        return {"body_fault": _TOO_DEEP}
    return {"values": values, "numbers": numbers}


class _Literal(str):
    """A number as the document has it: 0.10 stays 0.10."""

    __slots__ = ()


class _Nothing:
    """Where a pointer leads nowhere; null is something."""


_NOTHING = _Nothing()


def resolve(document: Any, pointer: str) -> Any:
    """Return what a JSON pointer (RFC 6901) leads to in `document`."""
    value = document
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and _INDEX.fullmatch(key) and int(key) < len(value):
            value = value[int(key)]
        else:
            return _NOTHING
    return value


def text(value: Any) -> str:
    """Return a value as a text: a text or number as it is, the rest as JSON."""
    return str(value) if isinstance(value, str) else _compact(value)


def _compact(value: Any) -> str:
    """Return a value as compact JSON, its numbers as the document has them."""
    if isinstance(value, _Literal):
        return str(value)
    if isinstance(value, dict):
        return f"{{{','.join(f'{json.dumps(key, ensure_ascii=False)}:{_compact(it)}' for key, it in value.items())}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_compact, value))}]"
    return json.dumps(value, ensure_ascii=False)
