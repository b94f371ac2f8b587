"""Small HTTP questions of the dry run: what an address answers, and reading a part of a large file.

Proxies and certificates are those of the login, as for the installers. Users and passwords travel in a header to the
host that they belong to, and never stand in what is returned.
"""

from __future__ import annotations

import base64
import functools
import http.client
import io
import os
import ssl
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Mapping

TIMEOUT_S = 10.0
TAIL = 64 * 1024
_RANGE = "bytes="


class NoAnswer(Exception):
    """An address did not answer with what was asked for; `certain` False: an installer may well get through."""

    def __init__(self, why: str, *, status: int | None = None, certain: bool = True) -> None:
        super().__init__(why)
        self.why = why
        self.status = status
        self.certain = certain


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to http and https alone."""

    def redirect_request(self, *about: Any) -> urllib.request.Request | None:
        if urllib.parse.urlsplit(about[-1]).scheme not in ("http", "https"):
            raise NoAnswer("redirects to what is neither http nor https", certain=False)
        return super().redirect_request(*about)


def without_user(url: str) -> str:
    """Return `url` without the user and password that it may hold."""
    parts = urllib.parse.urlsplit(url)
    return urllib.parse.urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def passwords(urls: list[str]) -> dict[str, str]:
    """Return the `user:password` that addresses hold, by host and port."""
    found = {}
    for url in urls:
        user, at, host = urllib.parse.urlsplit(url).netloc.rpartition("@")
        if at:
            found[host] = user
    return found


def get(url: str, users: Mapping[str, str], span: str | None = None) -> http.client.HTTPResponse:
    """Return the open response to a GET of `url`, of the bytes `span` alone where the server knows how.

    Raise NoAnswer for every answer but success.
    """
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise NoAnswer("is no address of http or https", certain=False)
    host = parts.netloc.rpartition("@")[2]
    user = parts.netloc.rpartition("@")[0] or users.get(host, "")
    request = urllib.request.Request(without_user(url), headers={"User-Agent": "stackplan"})  # noqa: S310 - checked above
    request.add_header("Accept-Encoding", "identity")
    if span is not None:
        request.add_header("Range", _RANGE + span)
    if user:
        credentials = base64.b64encode(urllib.parse.unquote(user).encode("utf-8")).decode("ascii")
        # Unredirected: another host has no business with this password.
        request.add_unredirected_header("Authorization", "Basic " + credentials)
    try:
        response: http.client.HTTPResponse = _opener().open(request, timeout=TIMEOUT_S)
    except urllib.error.HTTPError as error:
        error.close()
        # An installer looks for a user in netrc where the address names none.
        certain = error.code not in (401, 407) or bool(user) or not _has_netrc()
        raise NoAnswer(f"HTTP {error.code} {error.reason}".strip(), status=error.code, certain=certain) from error
    except urllib.error.URLError as error:
        certain = not isinstance(error.reason, ssl.SSLError)
        raise NoAnswer(_reason(error.reason), certain=certain) from error
    except (OSError, http.client.HTTPException) as error:
        raise NoAnswer(_reason(error)) from error
    return response


def _has_netrc() -> bool:
    return os.path.exists(os.environ.get("NETRC") or os.path.expanduser("~/.netrc"))


def _reason(error: object) -> str:
    if isinstance(error, TimeoutError) or "timed out" in str(error):
        return f"no answer within {TIMEOUT_S:g} s"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _opener() -> urllib.request.OpenerDirector:
    """Return an opener that speaks http and https and nothing else (no `file:`)."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=_certificates()),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _Redirects(),
        urllib.request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


@functools.lru_cache(maxsize=1)
def _certificates() -> ssl.SSLContext:
    """Return the one context of all requests: to read the certificates takes longer than most answers."""
    return ssl.create_default_context()


class Remote(io.RawIOBase):
    """A file on a server, read by ranges; its last TAIL bytes, where a zip keeps its directory, come with the first
    request.
    """

    def __init__(self, url: str, users: Mapping[str, str]) -> None:
        super().__init__()
        self._url = url
        self._users = users
        self._at = 0
        with get(url, users, f"-{TAIL}") as response:
            total = (response.headers.get("Content-Range") or "").rpartition("/")[2]
            if response.status != http.client.PARTIAL_CONTENT or not total.isdigit():
                raise NoAnswer("the server does not send parts of a file", certain=False)
            self._tail = response.read()
        self._size = int(total)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        begin = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = max(0, begin + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        wanted = min(len(buffer), self._size - self._at)
        if wanted <= 0:
            return 0
        begin = self._at - (self._size - len(self._tail))
        if begin >= 0:
            part = self._tail[begin : begin + wanted]
        else:
            with get(self._url, self._users, f"{self._at}-{self._at + wanted - 1}") as response:
                if response.status != http.client.PARTIAL_CONTENT:
                    raise NoAnswer("the server does not send parts of a file", certain=False)
                part = response.read(wanted)
        buffer[: len(part)] = part
        self._at += len(part)
        return len(part)
