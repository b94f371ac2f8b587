"""What can be said of a unit that is not in the state that a step asked for; only from evidence."""

import re

from stackplan.actions._target import told
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.facts import Known, Plain
from stackplan.model.job import Exited
from stackplan.model.kind import Evidence
from stackplan.model.regular import regular
from stackplan.model.unit import activity, unit_query

_REASON = regular(r"^its journal says why:\n  ([^\n]+)", re.MULTILINE)
_JOURNAL = regular(r"^the last lines of its journal:\n((?:  [^\n]*\n?)+)", re.MULTILINE)
_REFUSED = "Start request repeated too quickly"
_LINES = 6
_LONGEST = 310


def explain_service_failure(evidence: Evidence, name: str) -> tuple[Diagnosis, ...]:
    """Return what the unit's state afterwards, and the task's words, say of a failure."""
    answer = evidence.after[unit_query(name)]
    if not isinstance(answer, Known):
        return ()
    about = told(answer)
    failed = isinstance(evidence.ending, Exited) and evidence.ending.code != 0
    # The unit's result stays that of its last attempt; that systemd refused another one stands in its journal alone.
    if about["result"] == "start-limit-hit" or _REFUSED in evidence.output:
        return (_limit(evidence, name),)
    # A unit may also go down after the action saw it stay up, while the postconditions are waited for.
    if evidence.arguments.optional_text("state") != "stopped" and about["active"] not in ("active", "reloading"):
        return (_down(evidence, name, activity(about)),)
    if failed and re.search(r"stackplan: \S+ is \S+ afterwards|without a unit file afterwards", evidence.output):
        return (_enablement(evidence, name, about["file_state"]),)
    return ()


def _limit(evidence: Evidence, name: str) -> Diagnosis:
    """SP243: it was started too often in too short a time."""
    return Diagnosis(
        code="SP243",
        summary=f"systemd starts {name} no more: it failed too often in a short time.",
        at=evidence.at,
        step=evidence.step,
        causes=_journal(evidence),
        remedy=f"Mend why it fails (`journalctl -u {name}` on the node), then `systemctl reset-failed {name}` there.",
    )


def _down(evidence: Evidence, name: str, observed: str) -> Diagnosis:
    """SP242: it does not come up, or does not stay up."""
    at = evidence.arguments.place("state")
    return Diagnosis(
        code="SP242",
        summary=f"Service {name} was started and did not stay up.",
        expected="active",
        observed=observed,
        at=at,
        step=evidence.step,
        causes=_journal(evidence),
        remedy=f"Mend why it ends: `journalctl -u {name}` on the node has all of it.",
    )


def _enablement(evidence: Evidence, name: str, state: Plain) -> Diagnosis:
    """SP244: systemctl did not do what it was asked for."""
    at = evidence.arguments.place("enabled")
    wanted = "enabled" if evidence.arguments.flag("enabled", default=True) else "disabled"
    refused = re.findall(r"^(?:Failed to|Unit|The unit files)[^\n]*", evidence.output, re.MULTILINE)
    return Diagnosis(
        code="SP244",
        summary=f"Service {name} is not {wanted}, whatever systemctl said.",
        expected=wanted,
        observed=str(state or "no unit file"),
        at=at,
        step=evidence.step,
        causes=tuple(line[:300] for line in refused[:_LINES]),
    )


def _journal(evidence: Evidence) -> tuple[str, ...]:
    """Return the line of the unit's journal that holds the reason, where it stands further up, and the last ones."""
    match, reason = _JOURNAL.search(evidence.output), _REASON.search(evidence.output)
    lines = [line.strip()[:_LONGEST] for line in (match[1].splitlines()[-_LINES:] if match else ())]
    why = reason[1].strip()[:_LONGEST] if reason else None
    return tuple(lines) if why is None or why in lines else (why, *lines)
