"""The entries of a node's own history, and what they amount to. Pure; imports model and the lock's owner only.

A run tells the node that it takes it together with the request for its lock, and that it leaves it before it lets go.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from stackplan.connection.lock_owner import LockOwner
from stackplan.model.diagnosis import Diagnosis, Severity
from stackplan.model.history import PastRun
from stackplan.model.outcome import NodeOutcome, StepOutcome
from stackplan.model.playbook import Playbook
from stackplan.model.report import NodeReport

BEGAN = "began"
ENDED = "ended"


def began(node: str, playbook: Playbook, owner: LockOwner, command: str = "apply") -> dict[str, object]:
    """Return the entry of a run that takes a node."""
    return {
        "entry": BEGAN,
        "run": owner.run,
        "node": node,
        "time": owner.time,
        "command": command,
        "playbook": {
            "name": playbook.name,
            "path": playbook.path,
            "sha256": playbook.sha256,
            "revision": playbook.revision,
        },
        "operator": owner.operator,
        "host": owner.host,
    }


def ended(run: str, report: NodeReport, steps: Mapping[str, StepOutcome], time: str) -> dict[str, object]:
    """Return the entry of a run that leaves a node, whether it came to its end or was stopped."""
    return {
        "entry": ENDED,
        "run": run,
        "node": report.node,
        "time": time,
        "outcome": report.outcome.value,
        "stopped_at": report.stopped_at,
        "reason": None if report.reason is None else report.reason.value,
        "steps": {step: outcome.value for step, outcome in steps.items()},
    }


def noted(report: NodeReport, unwritten: str | None) -> NodeReport:
    """Return the report with a note where the node's history could not be written: that fails no run.

    Of a node that is lost it need not be said.
    """
    if unwritten is None or report.outcome is NodeOutcome.LOST:
        return report
    note = Diagnosis(
        severity=Severity.NOTE,
        summary=f"the node's own history lacks this run or its end: {unwritten}",
        remedy="`stackplan show` has all of it here",
    )
    return replace(report, diagnoses=(*report.diagnoses, note))


def past_runs(entries: Iterable[object]) -> tuple[tuple[PastRun, ...], int]:
    """Return the runs that entries tell of, the one that began last first, and how many entries say nothing of use.

    The order is that of the entries: clocks of controllers differ and jump. A run is told once for each name under
    which it took this machine.
    """
    found: dict[tuple[str, str], PastRun] = {}
    useless = 0
    for entry in entries:
        run = _texts(entry, "run", "node", "time")
        if run is None or not isinstance(entry, Mapping):
            useless += 1
            continue
        key = (run["run"], run["node"])
        before = found.get(key)
        if entry.get("entry") == BEGAN and (first := _begun(entry, run)) is not None:
            found[key] = first if before is None else replace(before, taken=before.taken + 1, ended=None, outcome=None)
        elif entry.get("entry") == ENDED and before is not None:
            found[key] = _with_end(before, entry, run["time"])
        elif entry.get("entry") != ENDED:
            # The beginning that belongs to an end may have been cut away; anything else cannot be told.
            useless += 1
    return tuple(reversed(found.values())), useless


def _texts(entry: object, *names: str) -> dict[str, str] | None:
    if not isinstance(entry, Mapping) or not all(isinstance(entry.get(name), str) for name in names):
        return None
    return {name: entry[name] for name in names}


def _begun(entry: Mapping[str, object], run: Mapping[str, str]) -> PastRun | None:
    playbook = _texts(entry.get("playbook"), "name", "path", "sha256")
    who = _texts(entry, "operator", "host")
    if playbook is None or who is None:
        return None
    revision = entry["playbook"].get("revision")  # type: ignore[attr-defined] # a mapping, or there were no texts
    return PastRun(
        run=run["run"],
        node=run["node"],
        playbook=playbook["name"],
        path=playbook["path"],
        sha256=playbook["sha256"],
        revision=_text(revision),
        operator=who["operator"],
        host=who["host"],
        began=run["time"],
        command=_text(entry.get("command")) or "apply",
    )


def _with_end(before: PastRun, entry: Mapping[str, object], time: str) -> PastRun:
    steps = entry.get("steps")
    outcomes = {str(step): str(outcome) for step, outcome in steps.items()} if isinstance(steps, Mapping) else {}
    return replace(
        before,
        ended=time,
        outcome=_text(entry.get("outcome")),
        stopped_at=_text(entry.get("stopped_at")),
        reason=_text(entry.get("reason")),
        steps=outcomes,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
