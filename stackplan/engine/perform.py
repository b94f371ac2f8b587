"""A step's action on a node: the job written from facts, carried out under its supervisor, retried within bounds."""

from collections.abc import Iterator
from dataclasses import dataclass

from stackplan.engine.attachment import Attachment
from stackplan.engine.bind import BoundStep
from stackplan.engine.clock import Clock
from stackplan.engine.inquiry import Inquiry
from stackplan.engine.job_name import job_name
from stackplan.engine.output import Output
from stackplan.engine.recorder import Recorder
from stackplan.engine.stop import Stop
from stackplan.engine.wording import ending_text
from stackplan.model.event import OutputSeen, StepStarted
from stackplan.model.facts import Facts
from stackplan.model.job import Ending, Exited, Job, NotStarted, Signalled, TimedOut, Work
from stackplan.model.kind import CannotAct
from stackplan.model.report import ActionReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What all nodes of a run share."""

    id: str
    recorder: Recorder
    clock: Clock
    stop: Stop


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeAtWork:
    """A connected node, and what is known of it."""

    name: str
    attachment: Attachment
    inquiry: Inquiry
    run: Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Performance:
    """How an action went. `ending` None: there was nothing to run. `duration_s` covers all attempts."""

    ending: Ending | None
    action: ActionReport
    duration_s: float | None = None


def perform(step: BoundStep, facts: Facts, node: NodeAtWork) -> Performance | CannotAct:
    """Carry the action out, again as often as the step's `retries` allow when it fails or takes too long.

    Nothing that was known of the node counts afterwards, unless there was nothing to run.
    """
    job = step.write_job(facts)
    if isinstance(job, CannotAct):
        return job
    if not job.stages:
        return Performance(ending=None, action=ActionReport(kind=step.step.action.kind))
    clock = node.run.clock
    began = clock.monotonic()
    *_, last = _attempts(step, job, node)
    return Performance(ending=last.ending, action=last.action, duration_s=round(clock.monotonic() - began, 3))


def _attempts(step: BoundStep, job: Job | CannotAct, node: NodeAtWork) -> Iterator[Performance]:
    """Yield one performance an attempt, the last of them the one that counts."""
    retries = step.step.retries
    for number in range(1, retries.times + 2):
        if isinstance(job, CannotAct):
            return
        performance = _attempt(step, job, number, node)
        yield performance
        if number > retries.times or not _may_repeat(performance.ending):
            return
        if node.run.stop.wait(retries.delay_s) or node.run.stop.outcome_before_next_step is not None:
            return
        # What failed may have changed the node: the next job is written from what is there now.
        job = step.write_job(node.inquiry.learn(step.action_queries))


def _may_repeat(ending: Ending | None) -> bool:
    return isinstance(ending, (Signalled, TimedOut)) or (isinstance(ending, Exited) and ending.code != 0)


def _attempt(step: BoundStep, job: Job, number: int, node: NodeAtWork) -> Performance:
    """Start the job once and watch it to its end. That it starts is on disk before it does."""
    run = node.run
    action = ActionReport(kind=step.step.action.kind, command=job.display, attempts=number)
    untold = run.recorder.record(StepStarted(node=node.name, step=step.id, action=action, time=run.clock.now()))
    if untold is not None:
        return _performed(action, NotStarted(untold), None)
    output = Output(
        run.recorder.redactor,
        lambda text: _tell(text, step, node),
    )
    node.inquiry.forget()
    work = Work(
        name=job_name(run.id, node.name, step.id, number),
        step=step.id,
        job=job,
        user=step.step.user,
        environment=step.step.environment,
        timeout_s=step.step.timeout_s,
        redactor=run.recorder.redactor,
    )
    ending = node.attachment.carry_out(work, output.feed)
    output.end()
    return _performed(action, ending, output.tail)


def _tell(text: str, step: BoundStep, node: NodeAtWork) -> None:
    node.run.recorder.record(OutputSeen(node=node.name, step=step.id, text=text, time=node.run.clock.now()))


def _performed(started: ActionReport, ending: Ending, tail: str | None) -> Performance:
    action = ActionReport(
        kind=started.kind,
        command=started.command,
        exit_code=ending.code if isinstance(ending, Exited) else None,
        ending=ending_text(ending),
        output_tail=tail,
        attempts=started.attempts,
    )
    return Performance(ending=ending, action=action)
