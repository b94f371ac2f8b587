"""Which nodes are meant: a node, a group, a glob, a list of them, `all`; `!x` takes away."""

import fnmatch
from collections.abc import Iterable
from itertools import zip_longest

from stackplan.language import source
from stackplan.language.nearest import did_you_mean
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.location import Location
from stackplan.model.node import Inventory, Node, NodeName
from stackplan.model.playbook import Playbook

ALL = "all"
_GLOB = frozenset("*?[")


def select(
    inventory: Inventory, patterns: Iterable[str], *, at: Location | None = None, places: Iterable[Location] = ()
) -> tuple[Node, ...]:
    """Return the nodes that the patterns name, in the inventory's order; commas part several in one pattern.

    Only `!x` patterns take away from all. `places` says where each pattern stands, `at` where all of them do. Raise
    Invalid for each part that matches nothing, and when nothing is left.
    """
    named = [(part, place) for pattern, place in zip_longest(patterns, places) for part in parts([pattern or ""])]
    added: set[NodeName] = set()
    removed: set[NodeName] = set()
    diagnoses = []
    for part, place in named:
        found = _matched(inventory, part.removeprefix("!").strip())
        if not found:
            diagnoses.append(_no_match(inventory, part.removeprefix("!").strip(), place or at))
        (removed if part.startswith("!") else added).update(found)
    if diagnoses:
        raise Invalid(diagnoses)
    at = at or next((place for _, place in named if place is not None), None)
    if named and all(part.startswith("!") for part, _ in named):
        added = set(inventory.nodes)
    chosen = tuple(node for name, node in inventory.nodes.items() if name in added - removed)
    if not chosen:
        if not named:
            expected = "a node, a group, a glob, or `all`"
            raise Invalid([Diagnosis(summary="the pattern is empty: it names no node", expected=expected, at=at)])
        summary = f"`{', '.join(part for part, _ in named)}` leaves no node"
        raise Invalid([Diagnosis(summary=summary, expected="at least one node", at=at)])
    return chosen


def parts(patterns: Iterable[str]) -> tuple[str, ...]:
    """Return the parts of patterns, which commas part."""
    return tuple(part.strip() for pattern in patterns for part in pattern.split(",") if part.strip())


def select_of(playbook: Playbook, inventory: Inventory) -> tuple[Node, ...]:
    """Return the nodes that a playbook names. Raise Invalid, at the place of each pattern, for what matches nothing."""
    try:
        return select(inventory, playbook.nodes, places=playbook.places)
    except Invalid as invalid:
        raise source.invalid(invalid.diagnoses, playbook.sources) from None


def narrow(
    inventory: Inventory, nodes: Iterable[Node], patterns: Iterable[str], *, at: Location | None = None
) -> tuple[Node, ...]:
    """Return those of `nodes` that the patterns of `--limit` name. Raise Invalid when none is left."""
    before = tuple(nodes)
    patterns = tuple(patterns)
    chosen = {node.name for node in select(inventory, patterns, at=at)}
    kept = tuple(node for node in before if node.name in chosen)
    if not kept:
        names = ", ".join(str(node.name) for node in before[:10])
        summary = f"`{', '.join(patterns)}` names none of the playbook's nodes"
        raise Invalid([Diagnosis(summary=summary, expected=f"some of {names}", at=at)])
    return kept


def _matched(inventory: Inventory, part: str) -> set[NodeName]:
    if part == ALL:
        return set(inventory.nodes)
    if part in inventory.groups:
        return set(inventory.groups[part])
    if part in inventory.nodes:
        return {NodeName(part)}
    if not _GLOB.intersection(part):
        return set()
    names = {name for name in inventory.nodes if fnmatch.fnmatchcase(name, part)}
    groups = [members for group, members in inventory.groups.items() if fnmatch.fnmatchcase(group, part)]
    return names.union(*groups)


def _no_match(inventory: Inventory, part: str, at: Location | None) -> Diagnosis:
    where = f" in {inventory.path}" if inventory.path else ""
    known = [*inventory.nodes, *inventory.groups, ALL]
    kind = "no node or group matches" if _GLOB.intersection(part) else "there is no node or group"
    expected = None if len(known) > 12 else ", ".join(known)
    return Diagnosis(summary=f"{kind} `{part}`{where}", expected=expected, at=at, remedy=did_you_mean(part, known))
