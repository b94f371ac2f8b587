"""A rendered step as JSON data, for people to read in a saved plan and for telling whether it is still the same. Pure.

A secret is `***` here: its value is none of a plan's business, and may change between plan and run.
"""

from collections.abc import Mapping

from stackplan.model.condition import Condition
from stackplan.model.playbook import Playbook, Step
from stackplan.model.secret import Secret


def rendered(step: Step) -> dict[str, object]:
    """Return everything that a step says for one node; of a step whose `when` does not hold only that."""
    if step.skipped:
        return {"id": str(step.id), "when": step.when, "skipped": True}
    return {
        "id": str(step.id),
        "name": step.name,
        "why": step.why,
        "when": step.when,
        "skipped": False,
        "action": {"kind": step.action.kind, "arguments": _plain(step.action.arguments.values)},
        "preconditions": [rendered_condition(it) for it in step.preconditions],
        "postconditions": [rendered_condition(it) for it in step.postconditions],
        "env": _plain(step.environment),
        "user": step.user,
        "timeout_s": step.timeout_s,
        "retries": {"times": step.retries.times, "delay_s": step.retries.delay_s},
        "always": step.always,
        "on_failure": step.on_failure.value,
        "interruptible": step.interruptible,
    }


def rendered_condition(condition: Condition) -> dict[str, object]:
    """Return everything that a condition states, its operands included."""
    return {
        "kind": condition.kind,
        "arguments": _plain(condition.arguments.values),
        "operands": [rendered_condition(it) for it in condition.operands],
        "name": condition.name,
        "message": condition.message,
        "within_s": condition.within_s,
        "recheck": None if condition.recheck is None else condition.recheck.value,
    }


def rendered_preconditions(playbook: Playbook) -> list[dict[str, object]]:
    return [rendered_condition(it) for it in playbook.preconditions]


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Secret) else value
