"""In which order nodes are taken, and when no more are: a canary, then batches, until too many have failed."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from stackplan.connection.failure import ConnectionFailure, LeftOver, Locked, NodeProgramFailed
from stackplan.connection.lock_owner import LockOwner
from stackplan.engine import history
from stackplan.engine.attachment import Attachment, Losses
from stackplan.engine.bug import bug, ended_by_bug
from stackplan.engine.crew import Crew
from stackplan.engine.execute import Execution
from stackplan.engine.inquiry import Inquiry
from stackplan.engine.perform import NodeAtWork, Run
from stackplan.engine.stop import Level
from stackplan.engine.takeover import take_lock
from stackplan.engine.target import Connect, Target
from stackplan.engine.waves import waves
from stackplan.model.event import ConnectionDropped, NodeEnded, NodeStarted, Reattached
from stackplan.model.outcome import NodeOutcome, Reason, StepOutcome
from stackplan.model.playbook import Rollout
from stackplan.model.report import NodeReport, Report

T = TypeVar("T")
# Whoever was not taken yet says at once that he was not.
_TURN_S = 2.0

# A node that another run holds was not brought to where it should be, and neither was one that could not be reached.
_FAILURES = frozenset(
    {NodeOutcome.FAILED, NodeOutcome.LOST, NodeOutcome.UNREACHABLE, NodeOutcome.LOCKED, NodeOutcome.STALE}
)

_LOST = frozenset({NodeOutcome.LOST, NodeOutcome.UNREACHABLE})

# What becomes of a node that was connected and could not be locked, by what went wrong.
_NOT_HELD: dict[type[ConnectionFailure], NodeOutcome] = {
    Locked: NodeOutcome.LOCKED,
    LeftOver: NodeOutcome.LOCKED,
    NodeProgramFailed: NodeOutcome.FAILED,
}


class RollOut:
    """One run over all its nodes, wave by wave; the steps' reports bear what the plan `planned` foretold of them."""

    # Once the operator has ended the run: a grace, what a process that cannot be killed is waited for, and a reserve.
    END_PATIENCE_S = 45.0
    # What nodes remember the run as.
    COMMAND = "apply"

    def __init__(
        self,
        run: Run,
        connect: Connect,
        owner: LockOwner,
        *,
        parallel: int,
        planned: Report | None = None,
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
        self._begun: set[str] = set()
        self._ended: set[str] = set()
        self._failed = 0
        self._allowed = 0
        self._told_to_end_at: float | None = None

    def roll_out(self, targets: Sequence[Target], rollout: Rollout) -> None:
        """Take every node that may be taken, telling everything as events."""
        self._allowed = rollout.max_failures
        for number, wave in enumerate(waves(targets, rollout), start=1):
            crew = Crew(partial(self._take, number), self._parallel)
            self._run.stop.on_change(crew.wake)
            crew.each(wave, self._end_jobs_when_told, self._patience_s)
            for target in wave:
                # Only a node that does not come back to say so is not ended yet.
                name = target.node.name
                forsaken = name in self._begun
                self._end(_forsaken(name) if forsaken else _not_taken(name, NodeOutcome.INTERRUPTED))

    def _take(self, wave: int, target: Target) -> None:
        """Take one node from its connection to its end; it ends in an event whatever happens."""
        try:
            self._take_node(wave, target)
        except Exception as error:  # noqa: BLE001 - one node's bug must not cost the others their report
            self._end(ended_by_bug(target.node.name, bug(error)))

    def _take_node(self, wave: int, target: Target) -> None:
        run, name = self._run, target.node.name
        outcome = run.stop.outcome_before_next_step
        if outcome is not None:
            self._end(_not_taken(name, outcome))
            return
        self._begun.add(name)
        run.recorder.record(NodeStarted(node=name, wave=wave, steps=target.steps, time=run.clock.now()))
        try:
            attachment = Attachment(
                lambda: self._connect(target.node), run.stop, run.clock, self._losses(name), run.reconnect_s
            )
        except ConnectionFailure as error:
            self._end(self._not_reached(name, NodeOutcome.UNREACHABLE, error))
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
        owner = replace(self._owner, time=run.clock.now())
        entry = history.began(name, target.playbook.playbook, owner, self.COMMAND)
        try:
            unwritten = take_lock(attachment, owner, entry, name, run)
        except ConnectionFailure as error:
            if isinstance(error, Locked) and run.stop.level is not Level.GO:
                return _not_taken(name, NodeOutcome.INTERRUPTED)
            return self._not_reached(name, _NOT_HELD.get(type(error), NodeOutcome.LOST), error)
        if run.stop.level is Level.END:
            attachment.end_job()
        inquiry = Inquiry(name, attachment, run.clock)
        node = NodeAtWork(name=name, attachment=attachment, inquiry=inquiry, run=run)
        report, outcomes = self.carry_out(target, node)
        left = history.ended(run.id, report, outcomes, run.clock.now())
        return history.noted(report, attachment.record(left) or unwritten)

    def carry_out(self, target: Target, node: NodeAtWork) -> tuple[NodeReport, Mapping[str, StepOutcome]]:
        """Do on a locked node what the run is for; return how it ended, and each of its steps."""
        execution = Execution(target.playbook, node, target.permit, self._foretold.get(target.node.name, {}))
        return execution.execute(), execution.outcomes

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
            if report.node in self._ended:
                return
            self._ended.add(report.node)
            self._failed += report.outcome in _FAILURES
            exceeded = self._failed > self._allowed
        if exceeded:
            self._run.stop.fail_rollout()
        self._run.recorder.record(ended)

    def _end_jobs_when_told(self) -> None:
        """Once the operator wants to end at once: have each node end what it runs, none waiting for another."""
        if self._run.stop.level is not Level.END or self._told_to_end_at is not None:
            return
        self._told_to_end_at = self._run.clock.monotonic()
        with self._guard:
            attachments = tuple(self._attachments.values())
        for attachment in attachments:
            threading.Thread(target=attachment.end_job, daemon=True, name="stackplan-end").start()

    def _patience_s(self) -> float | None:
        """Return how much longer the nodes are waited for: without end, until the operator has ended the run."""
        if self._told_to_end_at is None:
            return None
        return max(_TURN_S, self._told_to_end_at + self.END_PATIENCE_S - self._run.clock.monotonic())

    def _not_reached(self, node: str, outcome: NodeOutcome, error: ConnectionFailure) -> NodeReport:
        """Return the end of a node on which nothing ran; an operator who ended the run meanwhile is the reason then."""
        if self._run.stop.level is Level.END and outcome in _LOST:
            message = f"the operator ended the run before the node could be used ({error})"
            return NodeReport(node=node, outcome=NodeOutcome.INTERRUPTED, reason=Reason.INTERRUPTED, message=message)
        return NodeReport(node=node, outcome=outcome, message=str(error), remedy=error.remedy)


def _ignore(_: object) -> None:
    """Drop a result: that an event is not on disk matters only before an action starts."""


def _not_taken(node: str, outcome: NodeOutcome) -> NodeReport:
    whose = "the operator stopped the run" if outcome is NodeOutcome.INTERRUPTED else "too many nodes had failed"
    reason = Reason.INTERRUPTED if outcome is NodeOutcome.INTERRUPTED else None
    return NodeReport(node=node, outcome=outcome, reason=reason, message=f"{whose} before its turn")


def _forsaken(node: str) -> NodeReport:
    return NodeReport(
        node=node,
        outcome=NodeOutcome.INTERRUPTED,
        reason=Reason.INTERRUPTED,
        message="the operator ended the run, and the node did not come to an end in time; what runs there may go on",
        remedy="look at the node: is a process stopped there, or waiting for a disk that is gone?",
    )
