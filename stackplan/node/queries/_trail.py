"""Which links a path goes through, so that two names of one place can be told to be that."""

from __future__ import annotations

import os

MOST_LINKS = 40


def trail(path: str) -> list[str]:
    """Return the real path of each link on the way along `path`, in order, and last that of its end, which need not
    exist; none of them is `path` itself.
    """
    rest = path.split("/")[::-1]
    here, found = "/", []
    while rest:
        name = rest.pop()
        if name in ("", "."):
            continue
        if name == "..":
            here = os.path.dirname(here)
            continue
        there = os.path.join(here, name)
        try:
            leads_to = os.readlink(there)
        except OSError:
            here = there
            continue
        found.append(there)
        if len(found) > MOST_LINKS:
            break
        rest.extend(leads_to.split("/")[::-1])
        here = "/" if leads_to.startswith("/") else here
    return [place for place in dict.fromkeys((*found, here)) if place != path]
