"""Fetching a file over HTTP so that what arrives is what was asked for, or nothing is taken to have arrived."""

from __future__ import annotations

import base64
import hashlib
import http.client
import os
import shutil
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

CHUNK = 1 << 20
ATTEMPTS = 5
TIMEOUT_S = 60
PAUSES_S = (1.0, 2.0, 4.0, 8.0)
RETRIED = (408, 425, 429, 500, 502, 503, 504)


class NotFetched(Exception):
    """What stood in the way, worded for people."""


class _Interrupted(Exception):
    """The transfer stopped early; what has come is kept, and asking for the rest may help."""


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to http and https alone: `file:` and `ftp:` would read something that nobody asked for."""

    def redirect_request(self, *about: Any) -> urllib.request.Request | None:
        request, address = about[0], about[-1]
        if urllib.parse.urlsplit(address).scheme not in ("http", "https"):
            raise NotFetched(
                f"{shown(request.full_url)} redirects to {shown(address)}, which is neither http nor https"
            )
        return super().redirect_request(*about)


def shown(url: str) -> str:
    """Return `url` as it may be printed: without its user and password."""
    parts = urllib.parse.urlsplit(url)
    if "@" not in parts.netloc:
        return url
    return urllib.parse.urlunsplit(parts._replace(netloc="***@" + parts.netloc.rpartition("@")[2]))


def sha256_of(path: str) -> str:
    """Return the digest of the file at `path` as 64 hexadecimal digits."""
    digest = hashlib.sha256()
    with open(path, "rb") as source:
        for chunk in iter(lambda: source.read(CHUNK), b""):
            digest.update(chunk)
    return digest.hexdigest()


def fetch(url: str, part: str, sha256: str, *, pauses_s: tuple[float, ...] = PAUSES_S) -> None:
    """Make `part` the file that `url` offers and whose digest is `sha256`; raise NotFetched otherwise.

    What an earlier attempt left at `part` is continued. A file with another digest is removed, and asked for once more
    when a part of it was old. Nothing is ever run, opened or moved from `part` before its digest was compared.
    """
    if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
        raise NotFetched(f"{shown(url)} is neither http nor https")
    resumed = os.path.exists(part) and os.path.getsize(part) > 0
    _transfer(url, part, pauses_s)
    found = sha256_of(part)
    if found == sha256.lower():
        return
    os.remove(part)
    if resumed:
        print("the file that was begun earlier has another digest; starting afresh", flush=True)
        fetch(url, part, sha256, pauses_s=pauses_s)
        return
    raise NotFetched(
        f"sha256 of {shown(url)} differs\n  expected  {sha256.lower()}\n  observed  {found}\n"
        "The file was removed and nothing of it was used."
    )


def _transfer(url: str, part: str, pauses_s: tuple[float, ...]) -> None:
    """Fetch all of `url` into `part`, going on where a transfer stopped, at most ATTEMPTS times without progress."""
    failures = 0
    while True:
        before = os.path.getsize(part) if os.path.exists(part) else 0
        try:
            _continue(url, part, before)
        except _Interrupted as error:
            progress = os.path.exists(part) and os.path.getsize(part) > before
            failures = 0 if progress else failures + 1
            if failures >= ATTEMPTS:
                raise NotFetched(f"{shown(url)} could not be fetched: {error}") from error
            print(f"transfer interrupted ({error}); trying again", flush=True)
            if pauses_s:
                time.sleep(pauses_s[min(failures, len(pauses_s) - 1)])
        else:
            return


def _continue(url: str, part: str, offset: int) -> None:
    """Ask for what is missing of `part` once, and append it."""
    try:
        with _open(url, offset) as response:
            if response.status != http.client.PARTIAL_CONTENT:
                offset = 0
            length = response.headers.get("Content-Length")
            remaining = int(length) if length is not None and length.isdigit() else None
            _check_room(part, remaining)
            print(_announcement(url, offset, remaining), flush=True)
            _append(response, part, offset, remaining)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE and offset:
            # There is nothing after what has come: either all of it is here, or it is another file. The digest decides.
            return
        if error.code in RETRIED:
            raise _Interrupted(f"HTTP {error.code} {error.reason}") from error
        raise NotFetched(f"{shown(url)} answers HTTP {error.code} {error.reason}") from error
    except http.client.InvalidURL as error:
        raise NotFetched(f"{shown(url)} is not a valid address: {error}") from error
    except urllib.error.URLError as error:
        raise _Interrupted(f"{urllib.parse.urlsplit(url).hostname}: {error.reason}") from error
    except (http.client.HTTPException, ConnectionError, TimeoutError) as error:
        raise _Interrupted(str(error) or type(error).__name__) from error


def _open(url: str, offset: int) -> http.client.HTTPResponse:
    """Return the response to a request for `url` from byte `offset` on."""
    parts = urllib.parse.urlsplit(url)
    user, _, place = parts.netloc.rpartition("@")
    request = urllib.request.Request(urllib.parse.urlunsplit(parts._replace(netloc=place)))  # noqa: S310 - scheme checked
    request.add_header("User-Agent", "stackplan")
    request.add_header("Accept-Encoding", "identity")
    if user:
        credentials = urllib.parse.unquote(user).encode("utf-8")
        # Unredirected: another host has no business with this password.
        request.add_unredirected_header("Authorization", "Basic " + base64.b64encode(credentials).decode("ascii"))
    if offset:
        request.add_header("Range", f"bytes={offset}-")
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _Redirects(),
        urllib.request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    response: http.client.HTTPResponse = opener.open(request, timeout=TIMEOUT_S)
    return response


def _append(response: http.client.HTTPResponse, part: str, offset: int, remaining: int | None) -> None:
    """Write the body behind the first `offset` bytes of `part`; raise _Interrupted when it ends early."""
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "r+b") as target:
        target.truncate(offset)
        target.seek(offset)
        received = 0
        while True:
            try:
                chunk = response.read(CHUNK)
            except OSError as error:
                raise _Interrupted(str(error)) from error
            if not chunk:
                break
            target.write(chunk)
            received += len(chunk)
    if remaining is not None and received < remaining:
        raise _Interrupted(f"{remaining - received} bytes of {remaining} did not come")


def _check_room(part: str, remaining: int | None) -> None:
    folder = os.path.dirname(os.path.abspath(part))
    free = shutil.disk_usage(folder).free
    if remaining is not None and remaining > free:
        raise NotFetched(f"no room in {folder}: {remaining} bytes are needed, {free} are free")


def _announcement(url: str, offset: int, remaining: int | None) -> str:
    size = "of unknown size" if remaining is None else f"{remaining} bytes"
    return f"fetching {shown(url)}, {size}" + (f" from byte {offset} on" if offset else "")
