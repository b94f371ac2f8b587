"""Whether the indexes that a step names answer for the packages that it names.

uv does not ask an index for what is installed and suffices: with an index that is down or was mistyped it says
`Checked 1 package` and exits 0. pip says the same of an index that refuses a login and of one that lacks the package.
So the simple page of each name is asked for: does it answer, and does it name files.
"""

from __future__ import annotations

import http.client
import re
from typing import Any

from stackplan.node.queries._at_once import each
from stackplan.node.queries._web import NoAnswer, Web

MOST = 24
FIRST = 64 * 1024
LARGEST = 1024 * 1024
_FILE = re.compile(rb"\.(whl|tar\.gz|zip|tgz|tar\.bz2|tar\.xz|egg|exe)\b", re.IGNORECASE)


def findings(given: list[str], names: list[str], web: Web) -> list[dict[str, Any]]:
    """Return one row for each name that no index offers, and for each index that offers none of the names.

    A row: `{"name": NAME or null, "index": 0, "why": "answered 404 Not Found", "silent": false}`; the index by its
    place in the list: its address may be a secret. `"unfinished": true` stands in one of an index that may answer an
    installer yet: it was still sending, or is waited for longer in a run.
    """
    indexes = list(dict.fromkeys(given))
    pairs = [(index, name) for index in indexes for name in names][:MOST]
    asked = each(lambda pair: _obstacle(pair[0], pair[1], web), pairs, most=MOST, limit_s=web.patience_s + 2.0)
    silence = web.silence().why
    unfinished = f"had not sent its page after {web.patience_s + 2.0:g} s"
    told = {pair: asked.get(pair, unfinished) for pair in pairs}
    found: list[dict[str, Any]] = []
    mute = []
    for index in indexes:
        here = [told[pair] for pair in pairs if pair[0] == index]
        if here and all(here):
            found.append({"name": None, "index": given.index(index), "why": here[0]})
            mute.append(index)
    for name in names:
        everywhere = {index: told[index, name] for index in indexes if (index, name) in told}
        speaking = [index for index in everywhere if index not in mute]
        if speaking and all(everywhere.values()):
            found.append({"name": name, "index": given.index(speaking[0]), "why": everywhere[speaking[0]]})
    for row in found:
        row["silent"] = row["why"] == silence
        if row["why"] == unfinished or (row["silent"] and web.hasty):
            row["unfinished"] = True
    return found


def _obstacle(index: str, name: str, web: Web) -> str | None:
    """Return why an index does not answer for a name, None when it does or when that cannot be told from here."""
    try:
        with web.get(f"{index.rstrip('/')}/{name}/") as response:
            return _emptiness(response)
    except NoAnswer as error:
        return error.why if error.certain else None
    except (OSError, http.client.HTTPException):
        return "broke off in the middle of its answer"


def _emptiness(response: http.client.HTTPResponse) -> str | None:
    """Return what is wrong with a page that names no file: a login form answers 200, too."""
    page = response.read(FIRST)
    if not _FILE.search(page):
        page += response.read(LARGEST)
    if _FILE.search(page) or len(page) >= LARGEST:
        return None
    kind = (response.headers.get("Content-Type") or "of no kind").partition(";")[0].strip()[:60]
    return f"answered with a page that names no file ({kind})"
