"""Which questions are about one environment, by whatever name they call it. Pure; imports model only.

A link and the folder that it leads to, or a path with `..` in it, are two names of one environment. An answer tells
that in `through`; recorded facts from before it did are taken by their names. What a step before has left open (it
moves the link) tells nothing, and then is about no environment but the one of its name.
"""

from collections.abc import Iterator, Mapping
from posixpath import dirname

from stackplan.actions._installer_facts import InstallerFacts
from stackplan.actions._target import told
from stackplan.model.arguments import Value
from stackplan.model.environment_place import NAMED_BY, places
from stackplan.model.facts import Answer, Facts, Query

_NOT_OF_PACKAGES = ("dry_run", "disk")


def concerned(facts: Facts, node: InstallerFacts) -> Iterator[tuple[Query, bool]]:
    """Yield the questions about the environment that `node` tells of, or about something inside it; with each,
    whether it is about the environment itself.
    """
    asked = [query for query in facts.answers if query.kind not in _NOT_OF_PACKAGES]
    itself = {query: _is_about(query, facts.answers[query], node, facts.user) for query in asked}
    # An answer that could not be had tells no folder; another question of the same words may.
    names = {_name(query) for query, same in itself.items() if same} - {None}
    for query in asked:
        same = itself[query] or (_name(query) in names and "path" not in told(facts.answers[query]))
        if same or _is_within(query, facts.answers[query], node, facts.user):
            yield query, same


def _is_about(query: Query, answer: Answer, node: InstallerFacts, user: str | None) -> bool:
    """Return whether a question is about the environment itself, by its folder or by its interpreter."""
    found = places(told(answer))
    folders = (node.venv, node.real)
    if query.arguments.get("venv") is not None:
        # By the end alone: a link on the way may lie in an environment that leads on to another one.
        ends = found[-1:] if len(found) > 1 else (*_expanded(query, ("venv",), node, user), *found)
        return any(it.rstrip("/") in folders for it in ends)
    if query.arguments.get("python") is not None:
        programs = (*_expanded(query, ("python",), node, user), *found)
        return any(it in folders or dirname(dirname(it)) in folders for it in programs)
    return False


def _is_within(query: Query, answer: Answer, node: InstallerFacts, user: str | None) -> bool:
    about = told(answer)
    named = (*_expanded(query, ("venv", "python", "path", "prefix"), node, user), *places(about))
    # A link by which the environment is called stays as it is.
    itself = not (query.kind == "target" and about.get("kind") == "link")
    for folder in (node.venv, node.real):
        if any((itself and it == folder) or it.startswith(f"{folder}/") for it in named):
            return True
    return query.kind == "command" and node.venv in node.home.join(_words(query.arguments).split("~"))


def _expanded(query: Query, keys: tuple[str, ...], node: InstallerFacts, user: str | None) -> Iterator[str]:
    for key in keys:
        text = query.arguments.get(key)
        if isinstance(text, str):
            # Another user's `~` is another folder.
            yield node.expand(text).rstrip("/") if query.user == user else text.rstrip("/")


def _name(query: Query) -> tuple[str | None, str, Value] | None:
    """Return by what words, and whose, a question names its environment; None where it names none."""
    for key in NAMED_BY:
        if query.arguments.get(key) is not None:
            return query.user, key, query.arguments[key]
    return None


def _words(value: Value) -> str:
    """Return every text of a question's arguments, for looking whether a path stands in it."""
    if isinstance(value, Mapping):
        return " ".join(_words(item) for item in value.values())
    if isinstance(value, tuple):
        return " ".join(_words(item) for item in value)
    return value if isinstance(value, str) else ""
