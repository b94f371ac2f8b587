"""What wheels say of themselves before they are fetched: their METADATA, beside them on the index or from inside.

An index of PEP 658 keeps `WHEEL.metadata` beside each wheel; otherwise a few kilobytes of the zip archive are enough. A
source distribution knows its requirements only once it is built: nothing is told of it.
"""

from __future__ import annotations

import http.client
import io
import os
import re
import urllib.parse
import zipfile
import zlib
from typing import Any, Mapping

from stackplan.node.queries import _metadata_store
from stackplan.node.queries._at_once import each
from stackplan.node.queries._web import NoAnswer, Remote, Web
from stackplan.node.queries.distributions import headers

AT_ONCE = 8
LIMIT_S = 15.0
LARGEST = 2 * 1024 * 1024
WHOLE = 32 * 1024 * 1024
# What a torn or strange archive raises, encrypted ones and unknown compressions included.
_UNREADABLE = (OSError, zipfile.BadZipFile, zlib.error, LookupError, ValueError, NotImplementedError, RuntimeError)


def described(places: Mapping[str, tuple[str, str]], web: Web, limit_s: float = LIMIT_S) -> dict[str, dict[str, Any]]:
    """Return by name what the wheels at `places` say; `why` where that could not be read.

    A place is an address or a path, and the SHA-256 of what is there, or an empty text.
    """
    found = each(lambda name: _described(*places[name], web), places, most=AT_ONCE, limit_s=limit_s)
    return {name: found.get(name, {"why": f"its metadata did not come within {limit_s:g} s"}) for name in places}


def from_text(text: str) -> dict[str, Any]:
    """Return what is kept of METADATA: the fields that resolvers read."""
    fields = headers(text)
    return {
        "name": next(iter(fields.get("name", [])), None),
        "version": next(iter(fields.get("version", [])), None),
        "requires": fields.get("requires-dist", []),
        "requires_python": next(iter(fields.get("requires-python", [])), None),
        "provides_extra": fields.get("provides-extra", []),
    }


def wheel_folder(place: str) -> str | None:
    """Return the dist-info folder that a wheel brings, told from its file name; None for what is no wheel."""
    name = urllib.parse.unquote(urllib.parse.urlsplit(place).path if "://" in place else place).rpartition("/")[2]
    match = re.match(r"([^-]+-[^-]+)-.*\.whl$", name)
    return match.group(1) + ".dist-info" if match else None


def _described(place: str, sha256: str, web: Web) -> dict[str, Any]:
    folder = wheel_folder(place)
    if folder is None:
        return {"why": "it has to be built from source, and tells what it requires only then"}
    known = _metadata_store.kept(sha256) if sha256 else None
    if known is not None:
        return dict(known, folder=folder, why=None)
    try:
        text = _metadata(place, web).decode("utf-8", "replace")
    except (NoAnswer, http.client.HTTPException) as error:
        why = f"the server {error.why}" if isinstance(error, NoAnswer) else type(error).__name__
        return {"why": f"its metadata could not be fetched: {why}"}
    except _UNREADABLE as error:
        return {"why": f"its metadata could not be read: {error}"}
    about = from_text(text)
    if not about["name"] or not about["version"]:
        return {"why": "its metadata names no version"}
    if sha256:
        _metadata_store.keep(sha256, about)
    return dict(about, folder=folder, why=None)


def _metadata(place: str, web: Web) -> bytes:
    if "://" not in place or place.startswith("file:"):
        path = urllib.parse.unquote(urllib.parse.urlsplit(place).path) if "://" in place else place
        with open(path, "rb") as wheel:
            return _inside(wheel)
    url = place.partition("#")[0]
    parts = urllib.parse.urlsplit(url)
    beside = urllib.parse.urlunsplit(parts._replace(path=parts.path + ".metadata"))
    try:
        with web.get(beside) as response:
            text = response.read(LARGEST)
        if text.lstrip().lower().startswith(b"metadata-version"):
            return text
    except NoAnswer as error:
        if error.status is None:
            raise
    return _within(url, web)


def _within(url: str, web: Web) -> bytes:
    """Return METADATA from inside a wheel, by ranges, or from the whole of it where a server sends no parts."""
    try:
        with io.BufferedReader(Remote(url, web), 16 * 1024) as wheel:
            return _inside(wheel)
    except NoAnswer as error:
        if error.status is not None:
            raise
    with web.get(url) as response:
        length = response.headers.get("Content-Length") or "0"
        whole = b"" if length.isdigit() and int(length) > WHOLE else response.read(WHOLE + 1)
    if not 0 < len(whole) <= WHOLE:
        raise NoAnswer("does not send parts of a file")
    return _inside(io.BytesIO(whole))


def _inside(wheel: Any) -> bytes:
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            folder, _, name = member.filename.rpartition("/")
            if name == "METADATA" and folder.endswith(".dist-info") and os.sep not in folder:
                if member.file_size > LARGEST:
                    raise ValueError("METADATA is larger than 2 MiB")
                return archive.read(member)
    raise LookupError("the wheel holds no METADATA")
