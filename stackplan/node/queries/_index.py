"""Whether the indexes that a step names answer for the packages that it names.

uv does not ask an index for what is installed and suffices: with an index that is down or was mistyped it says
`Checked 1 package` and exits 0. So the simple page of each name is asked for, and only its status is looked at.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Mapping

from stackplan.node.queries._web import NoAnswer, get

MOST = 24


def findings(given: list[str], names: list[str], users: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return one row for each name that no index offers, and for each index that offers none of the names.

    A row: `{"name": NAME or null, "index": 0, "why": "HTTP 404 Not Found"}`; the index by its place in the list: its
    address may be a secret.
    """
    indexes = list(dict.fromkeys(given))
    pairs = [(index, name) for index in indexes for name in names][:MOST]
    if not pairs:
        return []
    with ThreadPoolExecutor(len(pairs)) as pool:
        told = dict(zip(pairs, pool.map(lambda pair: _obstacle(pair[0], pair[1], users), pairs)))
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
    return found


def _obstacle(index: str, name: str, users: Mapping[str, str]) -> str | None:
    """Return why an index does not answer for a name, None when it does or when that cannot be told from here."""
    try:
        with get(f"{index.rstrip('/')}/{name}/", users):
            return None
    except NoAnswer as error:
        return error.why if error.certain else None
