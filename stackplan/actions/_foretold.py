"""Answers about a path, as the node would give them once an action has written there."""

import hashlib
from collections.abc import Iterator, Mapping

from stackplan.actions._target import open_to_all, told
from stackplan.actions._written_environments import written_into
from stackplan.model.facts import WITHHELD, Answer, Facts, Known, Plain, Query, Unknown

READ_UP_TO = 1024 * 1024
"""As much of a file as the query `file` gives the content of."""

WILL_HOLD = "will_hold"
"""In a foretold answer of `target`, and in no other: the text that the file will hold, null where it is not known."""

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

_ASKED_ALONE = ("disk",)
"""Questions whose answers name no place beyond the one that was asked about, and differ on every node."""


def at_or_below(facts: Facts, *paths: str) -> Iterator[Query]:
    """Yield the questions that name one of `paths`, or something below it, as they were asked or as they were read,
    or that come to it by a link.
    """
    for query in facts.answers:
        named = any(_within(value, paths) for value in query.arguments.values())
        # An answer is looked at last: what follows from it counts only for nodes that give the very same one.
        if named or (query.kind not in _ASKED_ALONE and _told_within(told(facts.answers[query]), paths)):
            yield query


def _told_within(about: Mapping[str, Plain], paths: tuple[str, ...]) -> bool:
    return any(_within(place, paths) for place in (about.get("path"), about.get("leads_to"), *_through(about)))


def _through(about: Mapping[str, Plain]) -> list[Plain]:
    through = about.get("through")
    return through if isinstance(through, list) else []


def _names(query: Query, about: Mapping[str, Plain]) -> tuple[Plain, ...]:
    """Return the names of the one place that a question is about: as asked, as read, and where it ends."""
    asked = query.arguments.get("path")
    return (asked if isinstance(asked, str) else None, about.get("path"), *_through(about)[-1:])


def _enclosing(facts: Facts, paths: tuple[str, ...]) -> dict[Query, Answer]:
    """Return the answers about folders in which something is written: what is in them is not what it was."""
    found: dict[Query, Answer] = {}
    for query in facts.answers:
        about = told(facts.answers[query]) if query.kind == "target" else {}
        folders = tuple(str(place) for place in (about.get("path"), *_through(about)))
        if about.get("kind") == "folder" and any(_within(path, folders) and path not in folders for path in paths):
            found[query] = Known({**about, WILL_HOLD: None})
    return found


def _within(value: object, paths: tuple[str, ...]) -> bool:
    return isinstance(value, str) and any(value == path or value.startswith(f"{path}/") for path in paths)


def left_open(facts: Facts, *paths: str, why: str) -> dict[Query, Answer]:
    """Return, to every question about `paths` or what is below, that the answer is not known; nor is it to those about
    an environment into which something is put there.
    """
    return {
        **_enclosing(facts, paths),
        **{it: Unknown(f"it depends on {paths[0]}, which is another by then") for it in written_into(facts, paths)},
        **dict.fromkeys(at_or_below(facts, *paths), Unknown(why)),
    }


def reach(facts: Facts, *paths: str) -> frozenset[Query]:
    """Return the questions whose answers may change with what stands at `paths` or below."""
    open_ = (query for query in facts.answers if query.kind in _OPEN)
    return frozenset((*at_or_below(facts, *paths), *_enclosing(facts, paths), *written_into(facts, paths), *open_))


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def of_file(
    facts: Facts, paths: tuple[str, ...], about: Mapping[str, Plain], content: bytes | None, *, secret: bool = False
) -> dict[Query, Answer]:
    """Return the answers once a plain file stands at `paths` (names of one place) as the query `target` tells `about`.

    `content` None: only its digest is known; `secret`: it is nobody's business.
    """
    answers: dict[Query, Answer] = left_open(facts, *paths, why="a file is written there")
    for query in answers:
        before = facts.answers[query]
        if not any(name in paths for name in _names(query, told(before))):
            continue
        if query.kind == "target" and told(before).get("kind") in ("file", "missing"):
            holds = None if secret else _text(content)
            answers[query] = Known({**_of_target(query, told(before), about), WILL_HOLD: holds})
        elif query.kind == "target" and told(before).get("kind") == "link":
            # A link stays, and what it leads to is written.
            answers[query] = before
        elif query.kind == "file" and isinstance(before, Known):
            answers[query] = _told_of_file(query, told(before), about, content)
    return answers


def _of_target(query: Query, before: Mapping[str, Plain], about: Mapping[str, Plain]) -> dict[str, Plain]:
    names = ("kind", "size", "mode", "owner", "group", "uid", "gid", "sha256", "target", "modified_ns")
    after = {**_unwithheld(query, before), **{name: about.get(name) for name in names}}
    if "may_give" in before and "owner" not in query.arguments:
        # The file stays whose it is, which is no longer who it was.
        after["may_give"] = before.get("user") in ("root", about.get("owner"))
    return {**after, **_closed(query, about, ["sha256"])}


def _unwithheld(query: Query, before: Mapping[str, Plain]) -> dict[str, Plain]:
    return {key: it for key, it in before.items() if key != WITHHELD or query.arguments.get("secret")}


def _closed(query: Query, about: Mapping[str, Plain], names: list[Plain]) -> dict[str, Plain]:
    """Return which fields are withheld by then: `names`, of a file that not everybody may read."""
    closed = not query.arguments.get("secret") and not open_to_all(about.get("mode"))
    return {WITHHELD: names} if closed else {}


def _text(content: bytes | None) -> str | None:
    if content is None or len(content) > READ_UP_TO:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def _told_of_file(
    query: Query, before: Mapping[str, Plain], about: Mapping[str, Plain], content: bytes | None
) -> Answer:
    asks_content = query.arguments.get("content") is True
    if asks_content and content is None:
        return Unknown("its content is not known before it is there")
    after: dict[str, Plain] = {
        **_unwithheld(query, before),
        **_closed(query, about, ["sha256", "content"]),
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
    if about.get(number) is not None:
        return about[number]
    new = about.get("new_file")
    for known in (before, new if isinstance(new, dict) else {}):
        if known.get(name) == about[name] and known.get(number) is not None:
            return known[number]
    return 0 if about[name] == "root" else None
