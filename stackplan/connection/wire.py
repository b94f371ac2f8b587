"""Requests as the node program reads them, and its replies as the rest of the program does; pure.

The only place where secrets are revealed: what is made here goes into a frame and nowhere else.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stackplan.model.facts import Answer, Failed, Known, Query, Unknown
from stackplan.model.job import (
    Command,
    Ending,
    Exited,
    Interrupted,
    Lost,
    NotRebooted,
    Rebooted,
    Signalled,
    Stage,
    TimedOut,
    Work,
)
from stackplan.model.secret import Secret, reveal


class ReplyInvalid(Exception):
    """A reply does not have the shape that the wire fixes."""


def plain(value: Any) -> Any:
    """Return a value as JSON data, its secrets revealed."""
    if isinstance(value, Secret):
        return reveal(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def ask(queries: Sequence[Query], timeout_s: float) -> dict[str, Any]:
    rows = [{"kind": it.kind, "arguments": plain(it.arguments), "user": it.user} for it in queries]
    return {"ask": rows, "timeout_s": timeout_s}


def start(work: Work) -> dict[str, Any]:
    """Return the request; of the secrets that are known those that the job holds are masked in its output."""
    stages = [_stage(stage) for stage in work.job.stages]
    environment = plain(work.environment)
    own = work.redactor.within(_texts([stages, environment]))
    return {
        "start": {
            "job": work.name,
            "stages": stages,
            "environment": environment,
            "user": work.user,
            "timeout_s": work.timeout_s,
            "ends_boot": work.job.ends_boot,
            "masks": list(own.forms),
            "masked_cores": list(own.cores),
        }
    }


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _stage(stage: Stage) -> dict[str, Any]:
    if not isinstance(stage, Command):
        return {"task": {"kind": stage.kind, "arguments": plain(stage.arguments)}}
    return {
        "command": {
            "argv": list(stage.argv),
            "environment": plain(stage.environment),
            "drop_environment": list(stage.drop_environment),
            "stdin": plain(stage.stdin),
            "cwd": stage.cwd,
        }
    }


def answers(queries: Sequence[Query], reply: Mapping[str, Any]) -> dict[Query, Answer]:
    """Return the answers of a reply, by query. Raise ReplyInvalid."""
    if "error" in reply:
        return dict.fromkeys(queries, Failed(str(reply["error"])))
    rows = reply.get("answers")
    if not isinstance(rows, list) or len(rows) != len(queries):
        raise ReplyInvalid(f"{len(queries)} answers were expected")
    return {query: _answer(row) for query, row in zip(queries, rows, strict=True)}


def _answer(row: Any) -> Answer:
    if isinstance(row, dict):
        if "known" in row:
            return Known(row["known"])
        if "unknown" in row:
            return Unknown(str(row["unknown"]))
        if "failed" in row:
            return Failed(str(row["failed"]), str(row.get("stderr") or ""))
    raise ReplyInvalid("an answer is neither known, unknown nor failed")


def ending(told: Any) -> Ending:  # noqa: PLR0911 - one line an ending
    """Return how a job ended. Raise ReplyInvalid."""
    try:
        if "exited" in told:
            return Exited(int(told["exited"]), tuple(str(it) for it in told.get("left") or ()))
        if "signalled" in told:
            return Signalled(int(told["signalled"]))
        if "timed_out" in told:
            return TimedOut(float(told["timed_out"]), tuple(str(it) for it in told.get("killed") or ()))
        if "interrupted" in told:
            return Interrupted()
        if "lost" in told:
            return Lost(str(told["lost"]))
        if "rebooted" in told:
            return rebooted(told["rebooted"])
        if "same_boot" in told:
            return NotRebooted(str(told["same_boot"]), str(told["says"]) if told.get("says") else None)
    except (TypeError, ValueError, KeyError) as error:
        raise ReplyInvalid("an ending cannot be read") from error
    raise ReplyInvalid("an ending is of no known kind")


def rebooted(told: Mapping[str, Any]) -> Rebooted:
    """Return from which boot to which a node went. Raise KeyError, TypeError."""
    return Rebooted(before=str(told["before"]), after=str(told["after"]))
