"""What a step's `on_failure: rollback` does: once it has failed, what the run wrote on the node is taken back.

Not where the end of the step is not known, or the operator ended it: what is there then may be what is wanted.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from stackplan.connection.failure import ConnectionFailure
from stackplan.engine.bind import BoundStep
from stackplan.engine.left_running import LeftRunning, left_running, next_step, services_moved
from stackplan.engine.output import Output
from stackplan.engine.perform import NodeAtWork
from stackplan.engine.prove import condition_reports, prove
from stackplan.engine.take_back import PUTTING_BACK, TakenBack, remedy, take_back
from stackplan.model.change import Change
from stackplan.model.event import OutputSeen
from stackplan.model.outcome import Phase, Reason, StepOutcome
from stackplan.model.playbook import OnFailure
from stackplan.model.report import NOTHING_TO_ROLL_BACK, ROLLED_BACK_TO, NodeReport, StepReport

_NOT_KNOWN = frozenset({Reason.LOST, Reason.INTERRUPTED, Reason.BUG, None})
_ACTED = frozenset({StepOutcome.CHANGED, StepOutcome.FAILED})


def answer_failure(
    stopped: NodeReport,
    steps: Mapping[str, BoundStep],
    reports: Mapping[str, StepReport],
    node: NodeAtWork,
    tell: Callable[[StepReport], None],
) -> NodeReport:
    """Return how the node ends whose run was stopped by a step: as it is, or taken back as far as that can be.

    Steps whose writing was taken back are told anew, as rolled back, with their conditions as they stand then.
    """
    failed = steps.get(stopped.stopped_at or "")
    if failed is None or failed.step.on_failure is not OnFailure.ROLLBACK or stopped.reason in _NOT_KNOWN:
        return stopped
    users = tuple(dict.fromkeys(step.step.user for step in steps.values()))
    output = Output(node.run.recorder.redactor, lambda text: _say(text, node))
    moved = {step: services_moved(report.changes, report.action) for step, report in reports.items()}
    try:
        taken = take_back(node.run.id, users, node, output.feed)
        output.end()
        # The step that failed stays what stopped the node.
        others = {step: report for step, report in reports.items() if step in taken.steps and step != failed.id}
        _tell_steps(others, steps, taken, node, tell)
    except ConnectionFailure as error:
        taken = TakenBack(trouble=f"whether everything was put back is not known: {error}")
    ended = _ended(stopped, taken, _left(taken, steps, reports), node.run.id)
    return with_running(ended, left_running(moved, taken.things))


def _say(text: str, node: NodeAtWork) -> None:
    node.run.recorder.record(OutputSeen(node=node.name, step=PUTTING_BACK, text=text, time=node.run.clock.now()))


def _tell_steps(
    reports: Mapping[str, StepReport],
    steps: Mapping[str, BoundStep],
    taken: TakenBack,
    node: NodeAtWork,
    tell: Callable[[StepReport], None],
) -> None:
    """Tell of each of these steps that its writing was taken back, and how its conditions stand since."""
    changes = _undone(reports, taken)
    for step, report in reports.items():
        cheap = tuple(it for it in steps[step].post if it.recheck.after_each_step)
        facts = node.inquiry.learn([query for it in cheap for query in it.queries])
        now = {(it.kind, it.at): it for it in condition_reports(Phase.POST, prove(cheap, facts))}
        conditions = tuple(
            replace(now[it.kind, it.at], before=it.before) if (it.kind, it.at) in now else it
            for it in report.conditions
            if it.phase is Phase.PRE or (it.kind, it.at) in now
        )
        tell(
            replace(
                report,
                outcome=StepOutcome.ROLLED_BACK,
                conditions=conditions,
                changes=changes[step],
                message="taken back, because a later step failed",
            )
        )


def _undone(reports: Mapping[str, StepReport], taken: TakenBack) -> Mapping[str, tuple[Change, ...]]:
    """Return what putting back has changed, by step, each change told once; of a thing that an earlier controller has
    put back, what the step had changed, the other way round.
    """
    told: set[Change] = set()
    found: dict[str, tuple[Change, ...]] = {}
    for step, report in reports.items():
        changes = tuple(change for it in taken.things if step in it.steps for change in it.changes)
        if changes:
            found[step] = tuple(change for change in changes if change not in told)
            told.update(changes)
        elif report.outcome is StepOutcome.ROLLED_BACK:
            found[step] = report.changes
        else:
            found[step] = tuple(replace(it, before=it.after, after=it.before) for it in report.changes)
    return found


def _left(
    taken: TakenBack, steps: Mapping[str, BoundStep], reports: Mapping[str, StepReport]
) -> tuple[tuple[str, str], ...]:
    """Return the steps that acted and whose effects nothing takes back, with what they do."""
    written = {step for it in taken.things for step in it.steps}
    return tuple(
        (step, steps[step].action.describe())
        for step, report in reports.items()
        if step in steps
        and step not in written
        and report.outcome in _ACTED
        and report.action is not None
        and report.action.attempts
        and not report.action.writes
    )


def _kept(taken: TakenBack) -> str:
    paths = [path for it in taken.things for path in it.kept]
    return f"\nkept in {', '.join(paths)}: what may have changed since the run wrote it" if paths else ""


def _ended(stopped: NodeReport, taken: TakenBack, left: tuple[tuple[str, str], ...], run: str) -> NodeReport:
    """Return the node's report; a rollback that failed is said before everything else."""
    names = ", ".join(it.path for it in taken.things)
    also = f"; not taken back: {', '.join(f'`{step}` ({does})' for step, does in left)}" if left else ""
    if not taken.proven:
        message = f"THE ROLLBACK FAILED: {'; '.join(taken.faults)}{also}. Before that: {stopped.message}{_kept(taken)}"
        return replace(stopped, message=message, remedy=remedy(taken, run))
    if names:
        are = "is" if len(taken.things) == 1 else "are"
        message = f"{ROLLED_BACK_TO}{names} {are} as before the run{also}{_kept(taken)}"
    else:
        message = f"{NOTHING_TO_ROLL_BACK}the run wrote nothing here that can be taken back{also}"
    return replace(stopped, message=message)


def with_running(ended: NodeReport, running: tuple[LeftRunning, ...]) -> NodeReport:
    """Return the report with the services that may still use what was put back, and what to do about them."""
    if not running:
        return ended
    told = "".join(f"\n{it.sentence}" for it in running)
    return replace(ended, message=f"{ended.message}{told}: {next_step(running)}")
