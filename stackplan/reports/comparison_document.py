"""A comparison as one JSON document (schemas/comparison.v1.json); pure."""

import json

from stackplan.model.comparison import (
    CommandChange,
    Comparison,
    ConditionChange,
    FieldChange,
    Move,
    NodeOutlook,
    Side,
    StepChange,
    VariableChange,
    Weakening,
)
from stackplan.model.location import Location
from stackplan.model.report import StepReport

FORMAT = "stackplan.comparison/1"
Document = dict[str, object]


def render(comparison: Comparison) -> str:
    """Return the comparison as the text of a JSON document that ends in a line break; all of it ASCII."""
    return json.dumps(document(comparison), indent=1) + "\n"


def document(comparison: Comparison) -> Document:
    """Return the comparison as JSON data."""
    return {
        "format": FORMAT,
        "playbook": comparison.name,
        "differs": comparison.differs,
        "old": _side(comparison.old),
        "new": _side(comparison.new),
        "weakened": [_weakening(it) for it in comparison.weakened],
        "settings": [_field(it) for it in comparison.settings],
        "preconditions": [_condition(it) for it in comparison.preconditions],
        "steps": [_step(it) for it in comparison.steps],
        "variables": [_variable(it) for it in comparison.variables],
        "nodes": None if comparison.nodes is None else [_node(it) for it in comparison.nodes],
    }


def _side(it: Side) -> Document:
    return {"label": it.label, "path": it.path, "revision": it.revision, "sha256": it.sha256}


def _weakening(it: Weakening) -> Document:
    return {
        "effect": it.effect.value,
        "step": it.step,
        "subject": it.subject,
        "what": it.what,
        "before": it.before,
        "after": it.after,
        "location": _location(it.at),
    }


def _field(it: FieldChange) -> Document:
    return {
        "path": it.path,
        "before": it.before,
        "after": it.after,
        "effect": it.effect.value,
        "why": it.why,
        "location": _location(it.at),
    }


def _condition(it: ConditionChange) -> Document:
    return {
        "turn": it.turn.value,
        "phase": it.phase.value,
        "kind": it.kind,
        "before": it.before,
        "after": it.after,
        "effect": it.effect.value,
        "why": it.why,
        "fields": [_field(field) for field in it.fields],
        "location": _location(it.at),
    }


def _step(it: StepChange) -> Document:
    return {
        "id": it.id,
        "turn": it.turn.value,
        "kind": it.kind,
        "was": it.was,
        "moved": None if it.moved is None else _move(it.moved),
        "command": None if it.command is None else _command(it.command),
        "fields": [_field(field) for field in it.fields],
        "conditions": [_condition(condition) for condition in it.conditions],
        "location": _location(it.at),
    }


def _move(it: Move) -> Document:
    return {"before": it.before, "after": it.after, "effect": it.effect.value, "why": it.why}


def _command(it: CommandChange) -> Document:
    return {"before": it.before, "after": it.after}


def _variable(it: VariableChange) -> Document:
    return {
        "name": it.name,
        "before": it.before,
        "after": it.after,
        "used_by": list(it.used_by),
        "location": _location(it.at),
    }


def _node(it: NodeOutlook) -> Document:
    return {
        "node": it.node,
        "before": it.before.value if it.before else None,
        "after": it.after.value if it.after else None,
        "message": it.message,
        "steps": [{"id": step.id, "before": _planned(step.before), "after": _planned(step.after)} for step in it.steps],
    }


def _planned(step: StepReport | None) -> Document | None:
    if step is None:
        return None
    changes = step.predicted
    return {
        "outcome": step.outcome.value,
        "reason": step.reason.value if step.reason else None,
        "message": step.message,
        "command": step.action.command if step.action else None,
        "predicted": None
        if changes is None
        else [{"kind": it.kind, "name": it.name, "before": it.before, "after": it.after} for it in changes],
    }


def _location(at: Location | None) -> str | None:
    return str(at) if at else None
