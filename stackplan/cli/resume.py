"""`stackplan resume`: take a run up again that its controller left, or that stopped."""

import os
import sys
from collections.abc import Collection
from pathlib import Path

import click

from stackplan.cli.ending import end
from stackplan.cli.interrupt import stopping
from stackplan.cli.login import login_name
from stackplan.cli.output import form_option, say
from stackplan.cli.preparation import Prepared
from stackplan.cli.progress import progress
from stackplan.cli.saved import prepare_kept
from stackplan.cli.selection import ACCEPT_NEW, PARALLEL, reconnect_option
from stackplan.engine.apply import Setting, kept_plan
from stackplan.engine.clock import SystemClock
from stackplan.engine.journal import check_run, journal_path, read
from stackplan.engine.past import pasts
from stackplan.engine.reattach import NOT_INTERRUPTIBLE
from stackplan.engine.resume import Resumption, resume
from stackplan.engine.runs import find_run
from stackplan.engine.state_folder import state_folder
from stackplan.engine.stop import Stop
from stackplan.language.nearest import did_you_mean
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.outcome import NodeOutcome
from stackplan.model.report import Report


@click.command("resume")
@click.argument("run")
@click.option(
    "--again",
    multiple=True,
    metavar="STEP",
    help="Run this step again although it is not interruptible and nobody knows how it ended; may be repeated.",
)
@ACCEPT_NEW
@PARALLEL
@reconnect_option
@form_option("text", "json")
def command(*, run: str, again: tuple[str, ...], accept_new: bool, parallel: int, reconnect_s: float, form: str) -> int:
    """Take RUN up again: an id from `stackplan runs`, a part of it that no other run has, or `last`.

    What still runs on the nodes is watched to its end, what ended meanwhile counts, and what was not begun is begun; no
    action is run twice. The playbook, the nodes and the variables are those of the run, secrets are read again. Nodes
    that failed are tried again, those that were finished are only proven once more.
    """
    state = state_folder(os.environ)
    name = find_run(state, run)
    journal = journal_path(state, name)
    if not kept_plan(journal).is_file():
        raise Invalid([_not_kept(name, journal)])
    prepared = prepare_kept(kept_plan(journal), accept_new=accept_new)
    _check_steps(again, prepared)
    wanted = frozenset(again)
    while True:
        stop = Stop()
        setting = Setting(
            state=state,
            redactor=prepared.redactor,
            operator=login_name(),
            clock=SystemClock(),
            stop=stop,
            parallel=parallel,
            reconnect_s=reconnect_s,
        )
        finished = _finished(journal, prepared)
        # Up to the last line of the report: a late Ctrl-C must not tear it.
        with stopping(stop):
            report = _resume(prepared, setting, Resumption(run=name, again=wanted))
            say()
            if finished and report.outcome is NodeOutcome.OK:
                say(f"Run {name} had come to its end: nothing was left to do, and all that it proved still holds.")
            if not (asked := _refused(report) - wanted) or not _may_ask():
                return end(report, form)
        if not _agreed(asked):
            return end(report, form)
        wanted |= asked


def _resume(prepared: Prepared, setting: Setting, resumption: Resumption) -> Report:
    terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    with progress(terminal=terminal, write=say) as show:
        return resume(prepared.targets, prepared.connect, setting, resumption, show)


def _finished(journal: Path, prepared: Prepared) -> bool:
    """Return whether the run has finished every node already. Raise Invalid where the journal cannot be read."""
    events = read(journal) if journal.exists() else ()
    check_run(journal, events)
    found = pasts(events)
    return all(it.node.name in found and found[it.node.name].finished for it in prepared.targets)


def _refused(report: Report) -> frozenset[str]:
    """Return the steps that were not run again unasked."""
    return frozenset(
        step.id
        for node in report.nodes
        for step in node.steps
        if any(diagnosis.code == NOT_INTERRUPTIBLE for diagnosis in step.diagnoses)
    )


def _may_ask() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _agreed(steps: Collection[str]) -> bool:
    names = ", ".join(f"`{step}`" for step in sorted(steps))
    say(f"How the action of {names} ended is not known, and its postconditions do not hold.")
    return click.confirm("Run it again?", default=False, err=True)


def _check_steps(again: Collection[str], prepared: Prepared) -> None:
    """Raise Invalid for a step that the run does not have."""
    known = {str(step) for target in prepared.targets for step in target.steps}
    if wrong := [step for step in again if step not in known]:
        raise Invalid(
            [
                Diagnosis(
                    summary=f"the run has no step `{step}`",
                    expected=", ".join(sorted(known)),
                    remedy=did_you_mean(step, known),
                )
                for step in wrong
            ]
        )


def _not_kept(run: str, journal: Path) -> Diagnosis:
    return Diagnosis(
        summary=f"run {run} cannot be taken up again: its plan was not kept",
        expected=str(kept_plan(journal)),
        causes=(
            "it was killed before anything began",
            "a secret stood in clear in its playbook",
            "it is not one of `stackplan apply`",
        ),
        remedy="`stackplan apply PLAYBOOK` begins a new run; it waits for what this one may have left running",
    )
