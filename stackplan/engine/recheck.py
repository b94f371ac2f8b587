"""All nodes of a saved plan held against what it found there, before anything starts on any of them. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from stackplan.connection.failure import ConnectionFailure
from stackplan.engine.conclusion import conclude
from stackplan.engine.consult import not_reached
from stackplan.engine.fold import report_nodes
from stackplan.engine.identity import identity
from stackplan.engine.permit import REMEDY, Permit, stale
from stackplan.engine.planner import NodePlan
from stackplan.engine.redaction import redacted
from stackplan.engine.stale import Moved, compare, compare_renderings
from stackplan.engine.target import Target
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.outcome import NodeOutcome
from stackplan.model.report import NodeReport, Report
from stackplan.model.secret import Redactor

_OTHERS = "nothing ran: other nodes are not as the plan found them"


def permitted(target: Target) -> Permit:
    """Return what the saved plan lets the target do; every target of a saved plan has a permit."""
    assert target.permit is not None
    return target.permit


def recheck_renderings(targets: Sequence[Target]) -> Report | None:
    """Return the report on targets of which one renders to other steps than the plan shows, or None."""
    moved = {str(it.node.name): compare_renderings(permitted(it).plan, it.playbook.playbook) for it in targets}
    return _refusal(targets, moved, {})


def recheck(targets: Sequence[Target], plans: Mapping[str, NodePlan | ConnectionFailure]) -> Report | None:
    """Return the report on targets of which one has moved or was not reached, or None when the plan still holds."""
    moved: dict[str, tuple[Moved, ...]] = {}
    lost: dict[str, ConnectionFailure] = {}
    done: set[str] = set()
    for target in targets:
        name, permit = target.node.name, permitted(target)
        found = plans[name]
        if isinstance(found, ConnectionFailure):
            lost[name] = found
        else:
            moved[name] = compare(permit.plan, conclude(target.playbook, found, permit.redactor))
            if found.report.outcome is NodeOutcome.OK and any(step.acts for step in permit.plan.steps):
                done.add(name)
    return _refusal(targets, moved, lost, done)


def _refusal(
    targets: Sequence[Target],
    moved: Mapping[str, tuple[Moved, ...]],
    lost: Mapping[str, ConnectionFailure],
    done: Collection[str] = (),
) -> Report | None:
    if not lost and not any(moved.values()):
        return None
    reports = []
    for target in targets:
        name, redactor = target.node.name, permitted(target).redactor
        if name in lost:
            reports.append(_not_reached(name, lost[name], redactor))
        elif moved[name]:
            reports.append(redacted(stale(name, moved[name], done=name in done), redactor))
        else:
            reports.append(NodeReport(node=name, outcome=NodeOutcome.SKIPPED, message=_OTHERS))
    return report_nodes("apply", identity(targets[0].playbook.playbook), tuple(reports))


def _not_reached(name: str, failure: ConnectionFailure, redactor: Redactor) -> NodeReport:
    report = redacted(not_reached(name, failure), redactor)
    way_out = f"to apply the plan without it, add `-l '!{name}'`"
    return replace(report, remedy=f"{report.remedy}\n{way_out}" if report.remedy else way_out)


def failing(planned: Report) -> Report | None:
    """Return the report of an apply that does not start because its own plan says that it would fail, or None."""
    stopped = [node for node in planned.nodes if node.outcome is NodeOutcome.FAILED]
    if not stopped:
        return None
    where = ", ".join(node.node for node in stopped[:4]) + (" …" if len(stopped) > 4 else "")
    summary = f"nothing ran: the plan says that it would fail on {where}"
    diagnosis = Diagnosis(summary=summary, remedy=f"mend what it names, and {REMEDY}; `-l` leaves nodes out")
    return replace(planned, command="apply", diagnoses=(diagnosis, *planned.diagnoses))
