"""A step's action on a node: the job written from facts, carried out under its supervisor, retried within bounds."""

from collections.abc import Iterator, Mapping
from dataclasses import field, replace

from stackplan.engine.attachment import RECONNECT_S, Attachment
from stackplan.engine.bind import BoundStep
from stackplan.engine.clock import Clock
from stackplan.engine.inquiry import Inquiry
from stackplan.engine.job_name import job_name
from stackplan.engine.output import Output
from stackplan.engine.past import PastNode, PastStep
from stackplan.engine.recorder import Recorder
from stackplan.engine.snapshots import Protection
from stackplan.engine.stop import Stop
from stackplan.engine.wording import ending_text
from stackplan.model.event import OutputSeen, StepStarted
from stackplan.model.facts import Facts
from stackplan.model.frozen import dataclass
from stackplan.model.job import Ending, Exited, Job, NotStarted, Signalled, TimedOut, Work
from stackplan.model.kind import CannotAct
from stackplan.model.report import ActionReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What all nodes of a run share. `reconnect_s` bounds the tries to reach a node again that was lost; the steps
    `again` may be repeated although they are not interruptible and how they ended is not known.
    `past` is how far an earlier controller of the run had come, by node.
    """

    id: str
    recorder: Recorder
    clock: Clock
    stop: Stop
    reconnect_s: float = RECONNECT_S
    again: frozenset[str] = frozenset()
    past: Mapping[str, PastNode] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeAtWork:
    """A connected node, and what is known of it."""

    name: str
    attachment: Attachment
    inquiry: Inquiry
    run: Run
    protections: dict[str, Protection] = field(default_factory=dict)

    def protection(self, step: str) -> Protection:
        """Return what is done around the job of a step."""
        return self.protections.get(step) or Protection(run=self.run.id, step=step)


@dataclass(frozen=True, slots=True, kw_only=True)
class Performance:
    """How an action went. `ending` None: there was nothing to run. `duration_s` covers all attempts; it is not known
    of an action that another controller started. `since` is when the last attempt was announced.
    """

    ending: Ending | None
    action: ActionReport
    duration_s: float | None = None
    since: str | None = None


def perform(
    step: BoundStep, facts: Facts, node: NodeAtWork, first: int = 1, kept: str | None = None
) -> Performance | CannotAct:
    """Carry the action out, again as often as the step's `retries` allow when it fails or takes too long.

    `first` is the number of the first attempt within the run, `kept` what is remembered of how things stood before.
    Nothing that was known of the node counts any longer, unless there was nothing to run.
    """
    job = step.write_job(facts)
    if isinstance(job, CannotAct):
        return job
    if not job.stages:
        return Performance(ending=None, action=ActionReport(kind=step.step.action.kind))
    clock = node.run.clock
    began = clock.monotonic()
    *_, last = _attempts(step, _attempt(step, job, first, node, kept), first, node)
    return replace(last, duration_s=round(clock.monotonic() - began, 3))


def take_up(step: BoundStep, past: PastStep, node: NodeAtWork, within_s: float | None = None) -> Performance:
    """Watch the attempt that another controller of the run started to its end, and go on from there as it would have.

    What was told of its output already is not told again. `within_s` is what the action has left of its time, None: it
    is not known when it started.
    """
    action = past.action or ActionReport(kind=step.step.action.kind, attempts=past.attempt)
    output = _output(step, node, told=past.told)
    node.inquiry.forget()
    name = job_name(node.run.id, node.name, step.id, past.attempt)
    limit_s = step.time_limit_s if within_s is None else within_s
    ending = node.attachment.take_up(name, step.id, limit_s, output.feed, ends_boot=step.ends_boot)
    output.end()
    found = _performed(action, ending, output.tail, past.started)
    *_, last = _attempts(step, found, past.attempt, node, taken=past.attempt - past.first)
    return last


def _attempts(
    step: BoundStep, performance: Performance, number: int, node: NodeAtWork, taken: int = 0
) -> Iterator[Performance]:
    """Yield one performance an attempt, the last of them the one that counts.

    `performance` is that of the attempt of that `number`, ahead of which `taken` of the step's retries were used up.
    """
    retries = step.step.retries
    for left in range(max(0, retries.times - taken), -1, -1):
        yield performance
        if left == 0 or not _may_repeat(performance.ending):
            return
        if node.run.stop.wait(retries.delay_s) or node.run.stop.outcome_before_next_step is not None:
            return
        # What failed may have changed the node: the next job is written from what is there now.
        job = step.write_job(node.inquiry.learn(step.action_queries))
        if isinstance(job, CannotAct):
            return
        number += 1
        performance = _attempt(step, job, number, node)


def _may_repeat(ending: Ending | None) -> bool:
    return isinstance(ending, (Signalled, TimedOut)) or (isinstance(ending, Exited) and ending.code != 0)


def _attempt(step: BoundStep, job: Job, number: int, node: NodeAtWork, kept: str | None = None) -> Performance:
    """Start the job once and watch it to its end. That it starts is on disk before it does."""
    run, protection = node.run, node.protection(step.id)
    action = ActionReport(kind=step.step.action.kind, command=job.display, attempts=number, writes=protection.writes)
    since = run.clock.now()
    announced = StepStarted(node=node.name, step=step.id, action=action, time=since, recollection=kept)
    untold = run.recorder.record(announced)
    if untold is not None:
        return _performed(action, NotStarted(untold), None, since)
    output = _output(step, node)
    node.inquiry.forget()
    work = Work(
        name=job_name(run.id, node.name, step.id, number),
        step=step.id,
        job=protection.around(job),
        user=step.step.user,
        environment=step.step.environment,
        timeout_s=step.time_limit_s,
        redactor=run.recorder.redactor,
    )
    ending = node.attachment.carry_out(work, output.feed)
    output.end()
    return _performed(action, ending, output.tail, since)


def _output(step: BoundStep, node: NodeAtWork, told: int = 0) -> Output:
    return Output(node.run.recorder.redactor, lambda text: _tell(text, step, node), told=told)


def _tell(text: str, step: BoundStep, node: NodeAtWork) -> None:
    node.run.recorder.record(OutputSeen(node=node.name, step=step.id, text=text, time=node.run.clock.now()))


def _performed(started: ActionReport, ending: Ending, tail: str | None, since: str | None) -> Performance:
    action = ActionReport(
        kind=started.kind,
        command=started.command,
        exit_code=ending.code if isinstance(ending, Exited) else None,
        ending=ending_text(ending),
        output_tail=tail,
        attempts=started.attempts,
        writes=started.writes,
    )
    return Performance(ending=ending, action=action, since=since)
