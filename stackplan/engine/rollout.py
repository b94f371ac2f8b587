"""In which order nodes are taken, and when no more are: a canary, then batches, until too many have failed."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from stackplan.connection.failure import ConnectionFailure, Locked, NodeProgramFailed
from stackplan.connection.lock_owner import LockOwner
from stackplan.engine.attachment import Attachment, Losses
from stackplan.engine.bind import BoundPlaybook
from stackplan.engine.crew import Crew
from stackplan.engine.execute import Execution
from stackplan.engine.inquiry import Inquiry
from stackplan.engine.node_session import NodeSession
from stackplan.engine.perform import NodeAtWork, Run
from stackplan.engine.permit import Permit
from stackplan.engine.stop import Level
from stackplan.model.event import ConnectionDropped, NodeEnded, NodeStarted, Reattached
from stackplan.model.node import Node
from stackplan.model.outcome import NodeOutcome, Reason
from stackplan.model.playbook import Rollout
from stackplan.model.report import NodeReport, Report

T = TypeVar("T")

Connect = Callable[[Node], NodeSession]
# A node that another run holds was not brought to where it should be, and neither was one that could not be reached.
_FAILURES = frozenset(
    {NodeOutcome.FAILED, NodeOutcome.LOST, NodeOutcome.UNREACHABLE, NodeOutcome.LOCKED, NodeOutcome.STALE}
)

# What becomes of a node that was connected and could not be locked, by what went wrong.
_NOT_HELD: dict[type[ConnectionFailure], NodeOutcome] = {
    Locked: NodeOutcome.LOCKED,
    NodeProgramFailed: NodeOutcome.FAILED,
}


@dataclass(frozen=True, slots=True)
class Target:
    """A node and its playbook: rendered with its variables, and bound; `permit` narrows what may run there."""

    node: Node
    playbook: BoundPlaybook
    permit: Permit | None = None

    @property
    def steps(self) -> tuple[str, ...]:
        return tuple(step.id for step in self.playbook.steps)


def waves(targets: Sequence[T], rollout: Rollout) -> tuple[tuple[T, ...], ...]:
    """Return the targets in waves: first the canary, then batches; percentages are of all targets.

    Without a canary the batches begin at once; without a batch all that are left are one wave.
    """
    total = len(targets)
    left = tuple(targets)
    found: list[tuple[T, ...]] = []
    if rollout.canary is not None:
        size = rollout.canary.of(total)
        found.append(left[:size])
        left = left[size:]
    size = total if rollout.batch is None else rollout.batch.of(total)
    while left:
        found.append(left[:size])
        left = left[size:]
    return tuple(wave for wave in found if wave)


class RollOut:
    """One run over all its nodes, wave by wave; the steps' reports bear what the plan `planned` foretold of them."""

    def __init__(
        self, run: Run, connect: Connect, owner: LockOwner, *, parallel: int, planned: Report | None = None
    ) -> None:
        self._run = run
        self._connect = connect
        self._owner = owner
        self._parallel = parallel
        self._foretold = {
            node.node: {step.id: step.predicted for step in node.steps} for node in (planned.nodes if planned else ())
        }
        self._guard = threading.Lock()
        self._attachments: dict[str, Attachment] = {}
        self._failed = 0
        self._allowed = 0
        self._told_to_end = False

    def roll_out(self, targets: Sequence[Target], rollout: Rollout) -> None:
        """Take every node that may be taken, telling everything as events."""
        self._allowed = rollout.max_failures
        for number, wave in enumerate(waves(targets, rollout), start=1):
            crew = Crew(partial(self._take, number), self._parallel)
            self._run.stop.on_change(crew.wake)
            crew.each(wave, self._end_jobs_when_told)

    def _take(self, wave: int, target: Target) -> None:
        """Take one node from its connection to its end; it ends in an event whatever happens."""
        run, name = self._run, target.node.name
        outcome = run.stop.outcome_before_next_step
        if outcome is not None:
            self._end(_not_taken(name, outcome))
            return
        run.recorder.record(NodeStarted(node=name, wave=wave, steps=target.steps, time=run.clock.now()))
        try:
            attachment = Attachment(lambda: self._connect(target.node), run.stop, run.clock, self._losses(name))
        except ConnectionFailure as error:
            self._end(_not_reached(name, NodeOutcome.UNREACHABLE, error))
            return
        with self._guard:
            self._attachments[name] = attachment
        try:
            self._end(self._execute(target, attachment))
        finally:
            with self._guard:
                del self._attachments[name]
            attachment.close()

    def _execute(self, target: Target, attachment: Attachment) -> NodeReport:
        name, run = target.node.name, self._run
        try:
            attachment.lock(replace(self._owner, time=run.clock.now()))
        except ConnectionFailure as error:
            return _not_reached(name, _NOT_HELD.get(type(error), NodeOutcome.LOST), error)
        if run.stop.level is Level.END:
            attachment.end_job()
        inquiry = Inquiry(name, attachment, run.clock)
        node = NodeAtWork(name=name, attachment=attachment, inquiry=inquiry, run=run)
        return Execution(target.playbook, node, target.permit, self._foretold.get(name, {})).execute()

    def _losses(self, node: str) -> Losses:
        run = self._run
        return Losses(
            dropped=lambda step, why: _ignore(
                run.recorder.record(ConnectionDropped(node=node, step=step, why=why, time=run.clock.now()))
            ),
            reattached=lambda step: _ignore(
                run.recorder.record(Reattached(node=node, step=step, time=run.clock.now()))
            ),
        )

    def _end(self, report: NodeReport) -> None:
        """Tell how a node ended, and end the rollout when that was one failure too many."""
        ended = NodeEnded(
            node=report.node,
            outcome=report.outcome,
            report=report,
            time=self._run.clock.now(),
            stopped_at=report.stopped_at,
            reason=report.reason,
        )
        with self._guard:
            self._failed += report.outcome in _FAILURES
            exceeded = self._failed > self._allowed
        if exceeded:
            self._run.stop.fail_rollout()
        self._run.recorder.record(ended)

    def _end_jobs_when_told(self) -> None:
        """Once the operator wants to end at once: have each node end what it runs, none waiting for another."""
        if self._run.stop.level is not Level.END or self._told_to_end:
            return
        self._told_to_end = True
        with self._guard:
            attachments = tuple(self._attachments.values())
        for attachment in attachments:
            threading.Thread(target=attachment.end_job, daemon=True, name="stackplan-end").start()


def _ignore(_: object) -> None:
    """Drop a result: that an event is not on disk matters only before an action starts."""


def _not_taken(node: str, outcome: NodeOutcome) -> NodeReport:
    whose = "the operator stopped the run" if outcome is NodeOutcome.INTERRUPTED else "too many nodes had failed"
    reason = Reason.INTERRUPTED if outcome is NodeOutcome.INTERRUPTED else None
    return NodeReport(node=node, outcome=outcome, reason=reason, message=f"{whose} before its turn")


def _not_reached(node: str, outcome: NodeOutcome, error: ConnectionFailure) -> NodeReport:
    return NodeReport(node=node, outcome=outcome, message=str(error), remedy=error.remedy)
