"""What actions prove by themselves: the conditions that they bring along, as far as a playbook alone tells them."""

from stackplan.model.arguments import Arguments
from stackplan.model.condition import Condition
from stackplan.model.diagnosis import Invalid
from stackplan.model.kind import ActionKind
from stackplan.model.playbook import Action
from stackplan.model.room import ACTIONS


def read_action(action: Action) -> ActionKind | None:
    """Return the action with its arguments read; None where only a node can tell them."""
    found = _kind(action.kind)
    if found is None:
        return None
    try:
        return found.read(action.arguments)
    except (Invalid, ValueError, TypeError):
        # A template that only a node fills in need not be what the kind wants.
        return None


def implied(kind: str, arguments: Arguments) -> tuple[Condition, ...] | None:
    """Return what an action of these arguments proves by itself; None where only a node can tell."""
    if not implies_anything(kind):
        return ()
    found = read_action(Action(kind, arguments, arguments.at))
    if found is None:
        return None
    try:
        return found.implied()
    except (Invalid, ValueError, TypeError):
        return None


def implies_anything(kind: str) -> bool:
    """Return whether actions of a kind may bring conditions along at all."""
    found = _kind(kind)
    return found is not None and found.implied is not ActionKind.implied


def restarts_node(kind: str) -> bool:
    """Return whether actions of a kind succeed only by another boot of the node."""
    found = _kind(kind)
    return found is not None and found.new_boot_within_s is not ActionKind.new_boot_within_s


def _kind(word: str) -> type[ActionKind] | None:
    found = ACTIONS.find(word)
    return found if found is not None and issubclass(found, ActionKind) else None
