"""Files and folders of the node that an installer reads: what earlier steps will have made of them. Pure.

The dry run reads them as they are now. Of one that an earlier step writes, the text that it will hold stands in its
place; where that is not known, nothing is foretold.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import unquote, urlsplit

from stackplan.actions._foretold import WILL_HOLD
from stackplan.actions._requirements import is_place
from stackplan.actions._target import target_query, told
from stackplan.actions._wishes import Lines, Wishes
from stackplan.model.facts import Facts, Query, Unknown
from stackplan.model.regular import regular
from stackplan.model.secret import Text

_LISTS = ("requirements", "constraints", "overrides")
_REFERENCE = regular(
    r"^\s*(-[rcef]|--(requirement|constraint|editable|find-links)\b|\.{0,2}/|\S+\.(whl|tar\.gz|zip)\b|\S+\s*@\s*file:)",
    re.MULTILINE,
)


def input_queries(wishes: Wishes, secret_paths: frozenset[str]) -> tuple[Query, ...]:
    """Return the questions what stands at each path that is read."""
    return tuple(_query(path, secret_paths) for path in dict.fromkeys(_paths(wishes)))


def foreseen(wishes: Wishes, facts: Facts, secret_paths: frozenset[str]) -> Wishes | Unknown:
    """Return the wishes with the lines that its files will hold by then; Unknown where that cannot be told."""
    for path in dict.fromkeys(_paths(wishes)):
        answer = facts.answers.get(_query(path, secret_paths).asked_by(facts.user))
        if isinstance(answer, Unknown):
            return Unknown(f"what {path} will hold is not known: {answer.why}")
        about = {} if answer is None else told(answer)
        if WILL_HOLD not in about:
            continue
        text, lists = about[WILL_HOLD], _lists(wishes, path)
        if not isinstance(text, str) or not lists or _REFERENCE.search(text):
            return Unknown(f"it reads {path}, which an earlier step writes: only once that has run can it be told")
        count = sum(1 for line in text.splitlines() if line.strip())
        lines = Lines(text=text, count=count)
        wishes = replace(
            wishes,
            requirements=lines if "requirements" in lists else wishes.requirements,
            constraints=lines if "constraints" in lists else wishes.constraints,
            overrides=lines if "overrides" in lists else wishes.overrides,
        )
    return wishes


def _query(path: str, secret_paths: frozenset[str]) -> Query:
    return target_query(path, follow=True, secret=path in secret_paths)


def _lists(wishes: Wishes, path: str) -> list[str]:
    return [key for key in _LISTS if (lines := getattr(wishes, key)) is not None and lines.path == path]


def _paths(wishes: Wishes) -> Iterator[str]:
    for key in _LISTS:
        lines: Lines | None = getattr(wishes, key)
        if lines is not None and lines.path is not None:
            yield lines.path
    texts: list[Text] = [*(it.text for it in wishes.wanted), *(it.text for it in wishes.find_links)]
    for link, text in ((index >= len(wishes.wanted), text) for index, text in enumerate(texts)):
        if isinstance(text, str) and (path := _local(text, link=link)) is not None:
            yield path


def _local(text: str, *, link: bool) -> str | None:
    """Return the path on the node that a requirement or a source names; None for a name or another address."""
    _, at, address = text.partition(" @ ")
    place = address.strip() if at else text
    if place.startswith("file:"):
        return unquote(urlsplit(place).path) or None
    if "://" in place or not (link or at or is_place(place)):
        return None
    place = re.sub(r"\[[^]]*\]$", "", place)
    # Installers are started in the home.
    return place if place.startswith(("/", "~")) else f"~/{place.removeprefix('./')}"
