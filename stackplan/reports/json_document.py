"""A report, or diagnoses, as one JSON document (schemas/report.v1.json); pure.

Everything outside ASCII is escaped, so that a document that is shown in a terminal by mistake does no harm there.
"""

import json
from collections.abc import Iterable

from stackplan.model.change import Change
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.location import Location
from stackplan.model.report import (
    ActionReport,
    Broken,
    ConditionReport,
    NodeReport,
    PlaybookIdentity,
    Report,
    StepReport,
)
from stackplan.model.review import Review
from stackplan.model.verdict import Status

REPORT_FORMAT = "stackplan.report/1"
DIAGNOSES_FORMAT = "stackplan.diagnoses/1"
Document = dict[str, object]


def render(report: Report) -> str:
    """Return the report as the text of a JSON document that ends in a line break."""
    return _text(document(report))


def render_diagnoses(diagnoses: Iterable[Diagnosis]) -> str:
    """Return the document that stands in for a report where an input could not be used, so that nothing was done."""
    return _text({"format": DIAGNOSES_FORMAT, "diagnoses": [_diagnosis(it) for it in diagnoses]})


def render_review(review: Review) -> str:
    """Return what lint found, and what comments in the playbooks answer, as a document (schemas/diagnoses.v1.json)."""
    ignored = [
        _diagnosis(it.diagnosis) | {"reason": it.reason, "ignored_at": _location(it.at)} for it in review.ignored
    ]
    found = [_diagnosis(it) for it in review.findings]
    return _text({"format": DIAGNOSES_FORMAT, "diagnoses": found, "ignored": ignored})


def document(report: Report) -> Document:
    """Return the report as JSON data."""
    return {
        "format": REPORT_FORMAT,
        "command": report.command,
        "run": report.run,
        "outcome": report.outcome.value,
        "started": report.started,
        "ended": report.ended,
        "playbook": _playbook(report.playbook),
        "variables": dict(report.variables),
        "variable_origins": dict(report.variable_origins),
        "variables_overridden": dict(report.variables_overridden),
        "diagnoses": [_diagnosis(it) for it in report.diagnoses],
        "nodes": [_node(it) for it in report.nodes],
    }


def _text(data: Document) -> str:
    return json.dumps(data, indent=1) + "\n"


def _playbook(playbook: PlaybookIdentity) -> Document:
    return {
        "name": playbook.name,
        "path": playbook.path,
        "sha256": playbook.sha256,
        "revision": playbook.revision,
    }


def _node(node: NodeReport) -> Document:
    return {
        "node": node.node,
        "outcome": node.outcome.value,
        "wave": node.wave,
        "stopped_at": node.stopped_at,
        "reason": node.reason.value if node.reason else None,
        "summary": node.summary,
        "traits": dict(node.traits),
        "message": node.message,
        "remedy": node.remedy,
        "also_taken_back": list(node.also_taken_back),
        "preconditions": [_condition(it) for it in node.preconditions],
        "diagnoses": [_diagnosis(it) for it in node.diagnoses],
        "steps": [_step(it) for it in node.steps],
    }


def _step(step: StepReport) -> Document:
    return {
        "id": step.id,
        "name": step.name,
        "why": step.why,
        "outcome": step.outcome.value,
        "reason": step.reason.value if step.reason else None,
        "message": step.message,
        "location": _location(step.at),
        "duration_s": step.duration_s,
        "action": _action(step.action) if step.action else None,
        "predicted": None if step.predicted is None else [_change(it) for it in step.predicted],
        "details": list(step.details),
        "changes": [_change(it) for it in step.changes],
        "conditions": [_condition(it) for it in step.conditions],
        "diagnoses": [_diagnosis(it) for it in step.diagnoses],
        "broke": _broken(step.broke) if step.broke else None,
    }


def _action(action: ActionReport) -> Document:
    return {
        "kind": action.kind,
        "command": action.command,
        "exit_code": action.exit_code,
        "ending": action.ending,
        "output_tail": action.output_tail,
        "attempts": action.attempts,
        "writes": [{"kind": it.kind.value, "path": it.path, "user": it.user} for it in action.writes],
    }


def _change(change: Change) -> Document:
    return {"kind": change.kind, "name": change.name, "before": change.before, "after": change.after}


def _condition(condition: ConditionReport) -> Document:
    return {
        "phase": condition.phase.value,
        "kind": condition.kind,
        "name": condition.name,
        "text": condition.text,
        "verdict": condition.status.value,
        "before": _status(condition.before),
        "expected": condition.expected,
        "observed": condition.observed,
        "evidence": condition.evidence,
        "why": condition.why,
        "message": condition.message,
        "location": _location(condition.at),
        "predicted": _status(condition.predicted),
        "predicted_expected": condition.predicted_expected,
        "predicted_observed": condition.predicted_observed,
        "predicted_why": condition.predicted_why,
    }


def _broken(broken: Broken) -> Document:
    return {"step": broken.step, "conditions": [_condition(it) for it in broken.conditions]}


def _diagnosis(diagnosis: Diagnosis) -> Document:
    return {
        "code": diagnosis.code,
        "severity": diagnosis.severity.value,
        "summary": diagnosis.summary,
        "step": diagnosis.step,
        "expected": diagnosis.expected,
        "observed": diagnosis.observed,
        "location": _location(diagnosis.at),
        "causes": list(diagnosis.causes),
        "remedy": diagnosis.remedy,
        "remedy_location": _location(diagnosis.remedy_at),
    }


def _location(location: Location | None) -> str | None:
    return str(location) if location else None


def _status(status: Status | None) -> str | None:
    return status.value if status else None
