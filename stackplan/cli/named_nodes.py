"""Nodes that are named on the command line where there is no playbook to name them."""

from collections.abc import Sequence
from pathlib import Path

from stackplan.language import inventory as inventories
from stackplan.language.pattern import select
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.node import Inventory, Node


def named_nodes(names: Sequence[str], inventory: Path | None, here: Path, *, local: bool = False) -> tuple[Node, ...]:
    """Return the nodes that `names` stand for: patterns of the inventory that was given, of that nearest to `here`, or
    else addresses (`USER@HOST:PORT`). Without names all of an inventory that was given. Raise Invalid.
    """
    if local:
        if names or inventory is not None:
            raise Invalid([Diagnosis(summary="`--local` is this machine alone: leave `-n` and `-i` away")])
        return select(inventories.local(), ("all",))
    if inventory is not None:
        return select(inventories.read(inventory), tuple(names) or ("all",))
    if not names:
        summary = "no node is named"
        remedy = "name one with `-n NODE`, all of an inventory with `-i FILE`, or this machine with `--local`"
        raise Invalid([Diagnosis(summary=summary, remedy=remedy)])
    found = inventories.nearest(here)
    if found is None:
        return select(inventories.from_targets(names), ("all",))
    return _known(inventories.read(found), names)


def _known(inventory: Inventory, names: Sequence[str]) -> tuple[Node, ...]:
    """Return the nodes of an inventory that the names stand for; what says `@` or `:` is an address."""
    addresses = [name for name in names if "@" in name or ":" in name]
    patterns = [name for name in names if name not in addresses]
    nodes = select(inventory, patterns) if patterns else ()
    others = select(inventories.from_targets(addresses), ("all",)) if addresses else ()
    return (*nodes, *others)
