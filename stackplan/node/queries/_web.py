"""Small HTTP questions of the dry run: what an address answers, and reading a part of a large file.

Proxies and certificates are those of the environment that the installer gets. Users and passwords travel in a header to
the host that they belong to, and never stand in what is returned.
"""

from __future__ import annotations

import base64
import functools
import http.client
import io
import os
import ssl
import threading
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Mapping

# As long as the installers themselves wait where nobody says otherwise: a shorter limit would call dead what is slow.
PATIENCE_S = 30.0
PIP_PATIENCE_S = 15.0
_UV_LIMITS = ("UV_HTTP_TIMEOUT", "UV_REQUEST_TIMEOUT", "HTTP_TIMEOUT")
_PIP_LIMITS = ("PIP_DEFAULT_TIMEOUT", "PIP_TIMEOUT")
LONGEST_PATIENCE_S = 60.0
TAIL = 64 * 1024
_RANGE = "bytes="
_FORBIDDEN, _PROXY = 403, 407
_READING = threading.Lock()


class NoAnswer(Exception):
    """An address did not answer with what was asked for.

    `why` is what is said of it ("answered 404 Not Found"); `certain` False: an installer may well get through.
    `unreachable`: nothing at all came from there.
    """

    def __init__(self, why: str, *, status: int | None = None, certain: bool = True, unreachable: bool = False) -> None:
        super().__init__(why)
        self.why = why
        self.status = status
        self.certain = certain
        self.unreachable = unreachable


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


def installers_patience_s(environment: Mapping[str, str], *, pip: bool = False) -> float:
    """Return how long an address may be silent before the installer gives up in a run in `environment`."""
    for name in _PIP_LIMITS if pip else _UV_LIMITS:
        try:
            told = float(environment.get(name, ""))
        except ValueError:
            continue
        if told > 0:
            return told
    return PIP_PATIENCE_S if pip else PATIENCE_S


def patience_s(environment: Mapping[str, str], *, pip: bool = False) -> float:
    """Return how long an address may be silent for a plan: as long as for the installer, within a bound."""
    return min(installers_patience_s(environment, pip=pip), LONGEST_PATIENCE_S)


class Web:
    """Asks addresses as an installer in `environment` would; `users` are those of `passwords`.

    A host that was silent once is not waited for again. May be used by several threads at once.
    """

    def __init__(self, environment: Mapping[str, str], users: Mapping[str, str], *, pip: bool = False) -> None:
        self.patience_s = patience_s(environment, pip=pip)
        self.installers_patience_s = installers_patience_s(environment, pip=pip)
        self._environment = environment
        self._users = users
        self._silent: set[str] = set()

    def get(self, url: str, span: str | None = None) -> http.client.HTTPResponse:
        """Return the open response to a GET of `url`, of the bytes `span` alone where the server knows how.

        Raise NoAnswer for every answer but success.
        """
        try:
            parts = urllib.parse.urlsplit(url)
            named = parts.scheme in ("http", "https") and bool(parts.hostname)
        except ValueError:
            named = False
        if not named:
            raise NoAnswer("is no address of http or https", certain=False)
        host = parts.netloc.rpartition("@")[2]
        if host in self._silent:
            raise self.silence()
        user = parts.netloc.rpartition("@")[0] or self._users.get(host, "")
        request = urllib.request.Request(without_user(url), headers={"User-Agent": "stackplan"})  # noqa: S310 - checked above
        request.add_header("Accept-Encoding", "identity")
        if span is not None:
            request.add_header("Range", _RANGE + span)
        if user:
            # Unredirected: another host has no business with this password.
            request.add_unredirected_header("Authorization", _basic(user))
        return self._open(request, host, login=bool(user))

    def silence(self) -> NoAnswer:
        more = f"; a run waits for it up to {self.installers_patience_s:g} s" if self.hasty else ""
        return NoAnswer(f"did not answer within {self.patience_s:g} s{more}", unreachable=True)

    @property
    def hasty(self) -> bool:
        """Whether an address is waited for less long than by the installer in a run."""
        return self.patience_s < self.installers_patience_s

    def _open(self, request: urllib.request.Request, host: str, *, login: bool) -> http.client.HTTPResponse:
        self.aim(request)
        try:
            response: http.client.HTTPResponse = self._opener().open(request, timeout=self.patience_s)
        except urllib.error.HTTPError as error:
            error.close()
            raise self._refused(error, login=login) from error
        except urllib.error.URLError as error:
            if _silent(error.reason):
                self._silent.add(host)
                raise self.silence() from error
            certain = not isinstance(error.reason, ssl.SSLError)
            why = f"cannot be reached: {_reason(error.reason)}"
            raise NoAnswer(why, certain=certain, unreachable=certain) from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            if _silent(error):
                self._silent.add(host)
                raise self.silence() from error
            raise NoAnswer(f"cannot be understood: {_reason(error)}") from error
        return response

    def _refused(self, error: urllib.error.HTTPError, *, login: bool) -> NoAnswer:
        status = error.code
        told = f"{status} {http.client.responses.get(status, '')}".strip()
        if 300 <= status < 400:
            return NoAnswer("redirects without end", status=status)
        if status == http.client.UNAUTHORIZED:
            # An installer looks for a user in netrc where the address names none.
            certain = login or not self._has_netrc()
            word = "refused the login" if login else "wants a login"
            return NoAnswer(f"{word} ({told})", status=status, certain=certain)
        if status == _FORBIDDEN:
            return NoAnswer(f"refused {'the login' if login else 'access'} ({told})", status=status)
        if status == _PROXY:
            return NoAnswer(f"cannot be reached: the proxy wants a login ({told})", status=status, certain=False)
        return NoAnswer(f"answered {told}", status=status)

    def _has_netrc(self) -> bool:
        return os.path.exists(self._environment.get("NETRC") or os.path.expanduser("~/.netrc"))

    def aim(self, request: urllib.request.Request) -> None:
        """Send a request through the proxy that the environment names. Raise NoAnswer for one of another kind."""
        proxies = {
            name.lower()[: -len("_proxy")]: value
            for name, value in sorted(self._environment.items())
            if name.lower().endswith("_proxy") and value
        }
        proxy = proxies.get(request.type, proxies.get("all"))
        if proxy is None or urllib.request.proxy_bypass_environment(request.host, proxies):  # type: ignore[attr-defined]
            return
        parts = urllib.parse.urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        user, _, host = parts.netloc.rpartition("@")
        if parts.scheme != "http" or not host:
            raise NoAnswer(f"is behind a proxy of the kind {parts.scheme}, which is not asked here", certain=False)
        if user:
            request.add_unredirected_header("Proxy-Authorization", _basic(user))
        request.set_proxy(host, "http")

    def _opener(self) -> urllib.request.OpenerDirector:
        """Return an opener that speaks http and https and nothing else (no `file:`)."""
        opener = urllib.request.OpenerDirector()
        for handler in (
            urllib.request.HTTPHandler(),
            urllib.request.HTTPSHandler(context=self._trusted()),
            urllib.request.HTTPDefaultErrorHandler(),
            urllib.request.HTTPErrorProcessor(),
            _Redirects(self),
            urllib.request.UnknownHandler(),
        ):
            opener.add_handler(handler)
        return opener

    def _trusted(self) -> ssl.SSLContext:
        file, folder = self._environment.get("SSL_CERT_FILE"), self._environment.get("SSL_CERT_DIR")
        with _READING:
            try:
                return _certificates(file or None, folder or None)
            except (OSError, ssl.SSLError) as error:
                what = f"the certificates {file or folder} cannot be read: {_reason(error)}"
                raise NoAnswer(f"cannot be reached: {what}", certain=False) from error


@functools.lru_cache(maxsize=8)
def _certificates(file: str | None, folder: str | None) -> ssl.SSLContext:
    """Return the one context of all requests: to read the certificates takes longer than most answers."""
    made = ssl.create_default_context()
    if file or folder:
        made.load_verify_locations(file, folder)
    return made


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to http and https alone, each the way that the environment says."""

    def __init__(self, web: Web) -> None:
        self._web = web

    def redirect_request(self, *about: Any) -> urllib.request.Request | None:
        if urllib.parse.urlsplit(about[-1]).scheme not in ("http", "https"):
            raise NoAnswer("redirects to what is neither http nor https", certain=False)
        request = super().redirect_request(*about)
        if request is not None:
            self._web.aim(request)
        return request


def _basic(user: str) -> str:
    return "Basic " + base64.b64encode(urllib.parse.unquote(user).encode("utf-8")).decode("ascii")


def _silent(error: object) -> bool:
    return isinstance(error, TimeoutError) or "timed out" in str(error)


def _reason(error: object) -> str:
    told = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(told)[:200]


class Remote(io.RawIOBase):
    """A file on a server, read by ranges; its last TAIL bytes, where a zip keeps its directory, come with the first
    request.
    """

    def __init__(self, url: str, web: Web) -> None:
        super().__init__()
        self._url = url
        self._web = web
        self._at = 0
        with web.get(url, f"-{TAIL}") as response:
            total = (response.headers.get("Content-Range") or "").rpartition("/")[2]
            if response.status != http.client.PARTIAL_CONTENT or not total.isdigit():
                raise NoAnswer("does not send parts of a file", certain=False)
            self._tail = response.read(TAIL)
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
            with self._web.get(self._url, f"{self._at}-{self._at + wanted - 1}") as response:
                if response.status != http.client.PARTIAL_CONTENT:
                    raise NoAnswer("does not send parts of a file", certain=False)
                part = response.read(wanted)
        buffer[: len(part)] = part
        self._at += len(part)
        return len(part)
