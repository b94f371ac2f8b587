"""A systemd unit, as the query `service` answers it (its shape stands in `stackplan/node/queries/service.py`)."""

from collections.abc import Mapping

from stackplan.model.arguments import Arguments
from stackplan.model.change import Held, State
from stackplan.model.count import counted
from stackplan.model.facts import Plain, Query
from stackplan.model.regular import regular

_NAME = regular(r"[A-Za-z0-9:_.@\\][A-Za-z0-9:_.@\\-]*")


def unit_query(name: str) -> Query:
    return Query("service", {"name": name})


def read_unit(arguments: Arguments) -> str:
    """Return the unit's name at `name`. Raise Invalid when it is none."""
    name = arguments.text("name")
    if not _NAME.fullmatch(name):
        expected = "a name such as nvidia-persistenced or ssh.socket"
        raise arguments.invalid("name", "`name` is not a unit's name", expected=expected)
    return name


def activity(told: Mapping[str, Plain]) -> str:
    """Return in words how a unit stands: `failed (failed), result exit-code, exit status 1`."""
    if told["load"] == "not-found":
        return "there is no such unit"
    if told["load"] != "loaded" and told["active"] == "inactive":
        return f"{told['load']}: {told['load_error']}" if told["load_error"] else str(told["load"])
    parts = (
        None if told["result"] in (None, "success") else f"result {told['result']}",
        None if told["active"] == "active" else told["exit"],
        f"started anew {counted(int(str(told['restarts'])), 'time')} by systemd" if told["restarts"] else None,
    )
    return ", ".join([_state_words(told), *(str(part) for part in parts if part)])


def unit_state(told: Mapping[str, Plain] | None, name: str) -> State:
    """Return the state ("service", name) of an answer; its fingerprint changes with every start and reload."""
    if told is None or told["load"] == "not-found":
        return {}
    enabled = f", {told['file_state']}" if told["file_state"] else ""
    return {("service", name): Held(_state_words(told) + enabled, f"{told['invocation']} {told['changed']}")}


def _state_words(told: Mapping[str, Plain]) -> str:
    return f"{told['active']} ({told['sub']})" if told["sub"] else str(told["active"])
