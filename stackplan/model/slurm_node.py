"""A node as Slurm sees it, as the query `slurm_node` answers (its shape: `stackplan/node/queries/slurm_node.py`)."""

from collections.abc import Mapping

from stackplan.model.arguments import Arguments, Value
from stackplan.model.change import Held, State
from stackplan.model.facts import Plain, Query
from stackplan.model.regular import regular

_NAME = regular(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_MARK = regular(r" ?\[stackplan [0-9a-f]*\]")


def slurm_query(node: str | None) -> Query:
    """Return the question for a node of Slurm; None is the one that the asked machine is."""
    asked: dict[str, Value] = {} if node is None else {"node": node}
    return Query("slurm_node", asked)


def read_slurm_node(arguments: Arguments) -> str | None:
    """Return the name at `node`, or None. Raise Invalid when it is not the name of one node."""
    name = arguments.optional_text("node")
    if name is not None and not _NAME.fullmatch(name):
        raise arguments.invalid("node", "`node` is not the name of one node of Slurm", expected="a name such as gpu-01")
    return name


def occupants(told: Mapping[str, Plain]) -> tuple[str, ...]:
    """Return what keeps the node from being empty, in words."""
    found = told["occupants"]
    return tuple(str(it) for it in found) if isinstance(found, list) else ()


def is_drained(told: Mapping[str, Plain]) -> bool:
    """Return whether no job is on it and none is put on it, because somebody said so."""
    return told["draining"] is True and told["base"] in ("IDLE", "DOWN") and not occupants(told)


def bears_our_mark(told: Mapping[str, Plain]) -> bool:
    """Return whether a drain of stackplan is on it, whoever has the record of it."""
    return told["draining"] is True and told["mark"] is not None


def reason(told: Mapping[str, Plain]) -> str:
    """Return the reason and who gave it: `new driver (root)`; stackplan's mark is not for people."""
    text = _MARK.sub("", str(told["reason"] or "no reason given"))
    return f"{text} (stackplan)" if told["mark"] else f"{text} ({told['reason_user'] or 'nobody named'})"


def standing(told: Mapping[str, Plain]) -> str:
    """Return in words how it stands: `drained: new driver (root)`. Jobs come and go and are not in it."""
    if told["draining"]:
        return f"{'drained' if is_drained(told) else 'draining'}: {reason(told)}"
    if told["available"]:
        return "in service"
    about = f": {reason(told)}" if told["reason"] else ""
    return f"{'down' if told['base'] == 'DOWN' else told['state']}{about}"


def slurm_state(told: Mapping[str, Plain] | None) -> State:
    """Return the state ("slurm", NODE) of an answer."""
    return {} if told is None else {("slurm", str(told["node"])): Held(standing(told), str(told["mark"] or ""))}
