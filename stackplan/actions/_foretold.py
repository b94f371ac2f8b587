"""Answers about a path, as the node would give them once an action has written there."""

import hashlib
from collections.abc import Iterator, Mapping

from stackplan.actions._target import told
from stackplan.model.facts import Answer, Facts, Known, Plain, Query, Unknown

READ_UP_TO = 1024 * 1024
"""As much of a file as the query `file` gives the content of."""

_OPEN = (
    "command",
    "python_value",
    "imports",
    "disk",
    "http",
    "port",
    "service",
    "shell_cuda",
    "library",
    "kernel_caches",
    "kernel_launch",
)
"""Questions whose answers may rest on a path that they do not name."""


def at_or_below(facts: Facts, *paths: str) -> Iterator[Query]:
    """Yield the questions that name one of `paths`, or something below it, as they were asked or as they were read."""
    for query in facts.answers:
        named = any(_within(value, paths) for value in query.arguments.values())
        # An answer is looked at last: what follows from it counts only for nodes that give the very same one.
        if named or _within(told(facts.answers[query]).get("path"), paths):
            yield query


def _within(value: object, paths: tuple[str, ...]) -> bool:
    return isinstance(value, str) and any(value == path or value.startswith(f"{path}/") for path in paths)


def left_open(facts: Facts, *paths: str, why: str) -> dict[Query, Answer]:
    """Return, to every question about `paths` or what is below, that the answer is not known."""
    return dict.fromkeys(at_or_below(facts, *paths), Unknown(why))


def reach(facts: Facts, *paths: str) -> frozenset[Query]:
    """Return the questions whose answers may change with what stands at `paths` or below."""
    return frozenset((*at_or_below(facts, *paths), *(query for query in facts.answers if query.kind in _OPEN)))


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def of_file(
    facts: Facts, paths: tuple[str, ...], about: Mapping[str, Plain], content: bytes | None
) -> dict[Query, Answer]:
    """Return the answers once a plain file stands at `paths` (names of one place) as the query `target` tells `about`.

    `content` None: only its digest is known.
    """
    answers: dict[Query, Answer] = left_open(facts, *paths, why="a file is written there")
    for query in answers:
        before = facts.answers[query]
        path = query.arguments.get("path")
        if path not in paths and told(before).get("path") not in paths:
            continue
        if query.kind == "target" and told(before).get("kind") in ("file", "missing"):
            answers[query] = Known({**told(before), **_of_target(about)})
        elif query.kind == "file" and isinstance(before, Known):
            answers[query] = _told_of_file(query, told(before), about, content)
    return answers


def _of_target(about: Mapping[str, Plain]) -> dict[str, Plain]:
    names = ("kind", "size", "mode", "owner", "group", "sha256", "target", "modified_ns")
    return {name: about.get(name) for name in names}


def _told_of_file(
    query: Query, before: Mapping[str, Plain], about: Mapping[str, Plain], content: bytes | None
) -> Answer:
    asks_content = query.arguments.get("content") is True
    if asks_content and content is None:
        return Unknown("its content is not known before it is there")
    after: dict[str, Plain] = {
        **before,
        "exists": True,
        "type": "file",
        "mode": about["mode"],
        "owner": about["owner"],
        "group": about["group"],
        "uid": _number(before, about, "owner", "uid"),
        "gid": _number(before, about, "group", "gid"),
        "size": about["size"],
        "modified_ns": None,
        "sha256": about["sha256"],
        "content": None,
        "content_fault": None,
    }
    if asks_content and content is not None:
        if len(content) > READ_UP_TO:
            after["content_fault"] = f"it is larger than {READ_UP_TO} bytes"
        else:
            text = content.decode("utf-8", "replace")
            after.update({"content": text, "utf8": text.encode() == content})
    return Known(after)


def _number(before: Mapping[str, Plain], about: Mapping[str, Plain], name: str, number: str) -> Plain:
    """Return the number of the user or group that the file will have, or None where only the node knows it."""
    new = about.get("new_file")
    for known in (before, new if isinstance(new, dict) else {}):
        if known.get(name) == about[name] and known.get(number) is not None:
            return known[number]
    return 0 if about[name] == "root" else None
