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

import errno
import http.client
import json
import re
import socket
import ssl
from typing import Any

from stackplan.node.context import Context, ProbeFailed
from stackplan.node.queries._http_answer import encodings, read_body
from stackplan.node.queries._http_connection import NotInTime, NotSecured, opened
from stackplan.node.queries._http_encoding import Undecodable, decoded
from stackplan.node.queries._http_head import Malformed, read_final_head

BODY_LIMIT = 5_000_000
BEGINNING = 60
"""Bytes of a body that is no JSON which are told."""
_TOO_DEEP = "the body's JSON is nested too deeply to be read"
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")
_NO_TLS = {"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL", "HTTP_REQUEST"}
"""What OpenSSL, in its several versions, says of an answer that is none of TLS."""
_SHORTAGE = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS, errno.EADDRNOTAVAIL, errno.EPERM)


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:  # noqa: ARG001 - every query has this form
    told: dict[str, Any] = {"status": None, "reason": None, "leads_to": None, "failure": None}
    told.update(body=None, body_fault=None, values={}, numbers=[], json_fault=None)
    limit_s = float(arguments.get("timeout_s") or 10.0)
    pointers = [str(it) for it in arguments.get("pointers") or []]
    head = None
    try:
        with opened(str(arguments["url"]), limit_s) as stream:
            head = read_final_head(stream)
            # Read also where nobody asks for the body: an answer that breaks off is none.
            raw = read_body(stream, head, BODY_LIMIT)
    except (OSError, http.client.HTTPException, Malformed, ValueError) as error:
        return {**told, "failure": why(error, limit_s, None if head is None else head.status)}
    told.update(status=head.status, reason=head.reason or None)
    told["leads_to"] = head.first("location") if 300 <= head.status < 400 else None
    try:
        raw = decoded(raw, encodings(head), BODY_LIMIT) if len(raw) <= BODY_LIMIT else raw
    except Undecodable as error:
        return {**told, "body_fault": str(error)}
    if len(raw) > BODY_LIMIT:
        return {**told, "body_fault": f"the body is larger than {BODY_LIMIT // 1_000_000} MB"}
    if arguments.get("body"):
        told["body"] = raw.decode("utf-8", "replace")
    if pointers:
        told.update(_values(raw, pointers))
    return told


def why(error: Exception, limit_s: float, status: int | None = None) -> str:
    """Return in words why there was no whole answer, of which the `status` may have come.

    Raise ProbeFailed where that says nothing of the server.
    """
    if (
        isinstance(error, OSError)
        and error.errno in _SHORTAGE
        and not isinstance(error, (ssl.SSLError, socket.gaierror))
    ):
        raise ProbeFailed(f"the node cannot connect: {error.strerror}") from error
    if isinstance(error, socket.timeout):
        return _not_in_time(error, limit_s, status)
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        other = ", so something else is spoken there: is it an http:// address?" if error.reason in _NO_TLS else ""
        return f"no TLS: {error.reason or error}{other}"
    if isinstance(error, socket.gaierror):
        if error.errno in (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", None)):
            return "the node knows no such name"
        raise ProbeFailed(f"the name could not be looked up: {error.strerror}") from error
    if isinstance(error, UnicodeError):
        # No name of the domain name system is so long, or has such letters.
        return "the node knows no such name"
    return (getattr(error, "strerror", None) or str(error)).lower() if not isinstance(error, Malformed) else str(error)


def _not_in_time(error: socket.timeout, limit_s: float, status: int | None) -> str:
    """Return how far the server had come when the time was up: one that hangs is told from one that is slow."""
    if isinstance(error, NotSecured):
        begun = f"it took the connection, and the TLS handshake was not done within {limit_s:g} s"
        return f"{begun}: is the server overloaded, or is it an http:// address?"
    if not isinstance(error, NotInTime):
        return f"it took no connection within {limit_s:g} s"
    if not error.received:
        return f"it took the connection and sent nothing within {limit_s:g} s"
    bytes_ = f"{error.received:,} byte" + ("" if error.received == 1 else "s")
    if status is None:
        return f"it answered {bytes_} and was not done within {limit_s:g} s"
    slow = f"it answered {status}, and its body was not done within {limit_s:g} s ({bytes_} had come)"
    return f"{slow}: `timeout` says how long to wait"


def _values(raw: bytes, pointers: list[str]) -> dict[str, Any]:
    try:
        document = json.loads(raw.decode("utf-8"), parse_float=_Literal, parse_int=_Literal)
    except ValueError as error:
        begins = raw[:BEGINNING].decode("utf-8", "replace").strip()
        return {"json_fault": f"the body is no JSON: {error}; it begins: {begins}" if begins else "the body is empty"}
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
