"""A step that an earlier controller of the run announced, and of which it never learnt how it ended.

The node is asked first. What runs is watched, what ended counts as it ended, what never started is started; only where
the node itself does not know, the step is judged by its conditions alone.
"""

from dataclasses import replace
from datetime import datetime

from stackplan.connection.holders import LivingJob
from stackplan.engine.attachment import OVERDUE_S
from stackplan.engine.job_name import job_name
from stackplan.engine.live_step import After, Before, LiveStep
from stackplan.engine.past import PastNode, PastStep
from stackplan.engine.perform import NodeAtWork, take_up
from stackplan.engine.prove import summed
from stackplan.engine.snapshots import Protection, protect
from stackplan.engine.stop import Level
from stackplan.engine.wording import ending_text, unknown_end_text
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.event import Awaited
from stackplan.model.frozen import dataclass
from stackplan.model.job import (
    Absent,
    Ended,
    Ending,
    Interrupted,
    Lost,
    NotRebooted,
    Rebooted,
    Vanished,
    Whereabouts,
)
from stackplan.model.kind import CannotAct
from stackplan.model.outcome import Reason, StepOutcome
from stackplan.model.report import ActionReport, StepReport
from stackplan.model.verdict import Status

NOT_INTERRUPTIBLE = "SP250"
_PAUSE_S = 0.5


@dataclass(frozen=True, slots=True)
class Anew:
    """The step has to be taken anew; `attempt` is the number of its next attempt."""

    attempt: int


def reattach(live: LiveStep, past: PastStep) -> StepReport | Anew:
    """Return how the open step ended, or that it has to be taken anew. Raise ConnectionFailure."""
    node = live.node
    name = job_name(node.run.id, node.name, live.step.id, past.attempt)
    if live.step.ends_boot:
        return _across_boots(live, past, node.attachment.find(name))
    found = _without_processes(live, name, node.attachment.find(name))
    match found:
        case Absent():
            return Anew(past.attempt)
        case Vanished(why, processes) if processes:
            return _lives_on(live, past, why, processes)
        case Vanished(why):
            return _by_conditions(live, past, found.rebooted or Lost(why))
        case Ended(Lost() | Interrupted() | Rebooted() as ending):
            return _by_conditions(live, past, ending)
        case _:
            return _to_its_end(live, past)


def others(node: NodeAtWork, past: PastNode, known: frozenset[str]) -> tuple[LivingJob, ...]:
    """Wait until nothing lives there that an earlier controller started, but for the open one of the `known` steps.

    Return what lives all the same when it has had its time, or when the operator stops the run. A finished step may
    have been followed by more than steps: what a run wrote is taken back by a job, too.
    """
    if not past.steps:
        return ()
    spared = {
        job_name(node.run.id, node.name, step, it.attempt)
        for step, it in past.steps.items()
        if it.open and step in known
    }
    own = job_name(node.run.id, node.name, "", 0).removesuffix(".0")
    until: float | None = None
    while left := tuple(
        job for job in node.attachment.holders().jobs if job.job.startswith(own) and job.job not in spared
    ):
        now = node.run.clock.monotonic()
        if until is None:
            until = now + max(max(0.0, (job.timeout_s or 0.0) - (job.age_s or 0.0)) for job in left) + OVERDUE_S
            what = "; ".join(job.text for job in left)
            node.run.recorder.record(Awaited(node=node.name, what=what, time=node.run.clock.now()))
        if now >= until or node.run.stop.wait(_PAUSE_S):
            return left
    if until is not None:
        # Whatever it was, it may have changed what was asked before.
        node.inquiry.forget()
    return ()


def _across_boots(live: LiveStep, past: PastStep, found: Whereabouts) -> StepReport | Anew:
    """Deal with an action that is to end the boot: it has when there is another one, and may be about to when not.

    It is started a second time only where its end is not known, and all the time that it had is over.
    """
    if isinstance(found, Absent):
        return Anew(past.attempt)
    before = live.recalled(past)
    performance = take_up(live.step, past, live.node, _left_s(live, past))
    if isinstance(performance.ending, (NotRebooted, Interrupted)):
        if live.step.step.interruptible or live.step.id in live.node.run.again:
            return Anew(past.attempt + 1)
        after = live.look_after(performance.ending, before)
        report = replace(_report(live, past, before, after, performance.ending), reason=Reason.LOST)
        return _refused(live, report, performance.ending)
    return live.prove(performance, before)


def _left_s(live: LiveStep, past: PastStep) -> float | None:
    """Return what is left of the action's time since it was announced; None where that is not known."""
    try:
        began = datetime.fromisoformat(past.started or "")
        gone_s = (datetime.fromisoformat(live.node.run.clock.now()) - began).total_seconds()
    except (ValueError, TypeError):
        return None
    # Another controller's clock may be ahead or behind.
    return min(live.step.time_limit_s, max(0.0, live.step.time_limit_s - gone_s))


def _to_its_end(live: LiveStep, past: PastStep) -> StepReport:
    before = live.recalled(past)
    protection = protect(live.step, before.facts, live.node.run.id, live.node.inquiry)
    if isinstance(protection, CannotAct):
        # It was made before the action started; only another attempt would want one more.
        protection = Protection(run=live.node.run.id, step=live.step.id)
    live.node.protections[live.step.id] = protection
    return live.prove(take_up(live.step, past, live.node), before)


def _without_processes(live: LiveStep, name: str, found: Whereabouts) -> Whereabouts:
    """Wait, as long as a job may take, until nothing lives of one without its supervisor; return what it is then."""
    if not isinstance(found, Vanished) or not found.processes:
        return found
    node = live.node
    names = ", ".join(f"{it} ({pid})" for pid, it in sorted(found.processes.items()))
    what = f"the end of step `{live.step.id}` will not be recorded on the node, and {names} live on"
    node.run.recorder.record(Awaited(node=node.name, step=live.step.id, what=what, time=node.run.clock.now()))
    until = node.run.clock.monotonic() + live.step.time_limit_s + OVERDUE_S
    vanished = found
    while isinstance(found, Vanished) and found.processes and node.run.clock.monotonic() < until:
        if node.run.stop.wait(_PAUSE_S, Level.FINISH):
            break
        found = node.attachment.find(name)
    # It ran, though nothing is left that tells of it: to a node whose folder was deleted it never started.
    return replace(vanished, processes={}) if isinstance(found, Absent) else found


def _by_conditions(live: LiveStep, past: PastStep, ending: Ending) -> StepReport | Anew:
    """Judge a step of whose action nobody knows how it ended: what it was to bring about holds, or it has to run."""
    before = live.recalled(past)
    live.node.inquiry.forget()
    after = live.look_after(None, before)
    if summed(after.post) is Status.HELD and after.earlier_status is Status.HELD:
        message = f"{unknown_end_text(ending)}; all that it was to bring about holds"
        return replace(_report(live, past, before, after, ending), outcome=StepOutcome.CHANGED, message=message)
    if live.step.step.interruptible or live.step.id in live.node.run.again:
        return Anew(past.attempt + 1)
    return _refused(live, replace(_report(live, past, before, after, ending), reason=Reason.LOST), ending)


def _refused(live: LiveStep, report: StepReport, ending: Ending) -> StepReport:
    summary = "the step is not interruptible, and its action was cut off: it is not run again unasked"
    remedy = (
        f"look at the node; `stackplan resume {live.node.run.id} --again {live.step.id}` runs it again, unless its "
        "postconditions hold by then"
    )
    diagnosis = Diagnosis(
        summary=summary, code=NOT_INTERRUPTIBLE, at=live.step.step.at, step=live.step.id, remedy=remedy
    )
    return replace(report, message=unknown_end_text(ending), diagnoses=(diagnosis,))


def _lives_on(live: LiveStep, past: PastStep, why: str, processes: object) -> StepReport:
    assert isinstance(processes, dict)
    before = live.recalled(past)
    live.node.inquiry.forget()
    after = live.look_after(Lost(why), before)
    names = ", ".join(f"{name} ({pid})" for pid, name in sorted(processes.items()))
    report = replace(_report(live, past, before, after, Lost(why)), reason=Reason.LOST)
    message = f"how it ends will not be recorded on the node, and what it had started lives on: {names}"
    remedy = "`stackplan unlock` ends it; then take the run up again"
    diagnosis = Diagnosis(summary=message, at=live.step.step.at, step=live.step.id, remedy=remedy)
    return replace(report, message=message, diagnoses=(diagnosis,))


def _report(live: LiveStep, past: PastStep, before: Before, after: After, ending: Ending) -> StepReport:
    told = past.action or ActionReport(kind=live.step.step.action.kind, attempts=past.attempt)
    return replace(
        live.report(StepOutcome.FAILED, conditions=live.conditions(before, after)),
        action=replace(told, ending=ending_text(ending)),
        changes=after.changes,
    )
