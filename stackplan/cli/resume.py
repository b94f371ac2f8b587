"""`stackplan resume`: take a run up again that its controller left, or that stopped."""

import os
import sys
from collections.abc import Collection
from pathlib import Path

import click

from stackplan.cli.ending import end
from stackplan.cli.failure import INTERRUPTED
from stackplan.cli.interrupt import stopping
from stackplan.cli.login import login_name
from stackplan.cli.newer_runs import may_go_on
from stackplan.cli.output import form_option, say
from stackplan.cli.preparation import Prepared
from stackplan.cli.progress import progress
from stackplan.cli.question import agreed
from stackplan.cli.run_folder import named
from stackplan.cli.saved import prepare_kept
from stackplan.cli.selection import ACCEPT_NEW, PARALLEL, reconnect_option
from stackplan.engine.apply import Setting, kept_plan
from stackplan.engine.clock import SystemClock
from stackplan.engine.journal import check_run, goes_on, journal_path, read
from stackplan.engine.past import pasts
from stackplan.engine.reattach import NOT_INTERRUPTIBLE
from stackplan.engine.resume import Resumption, resume
from stackplan.engine.runs import find_run
from stackplan.engine.state_folder import state_folder
from stackplan.engine.stop import Stop
from stackplan.language.nearest import did_you_mean
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.event import RestoreStarted, RunStarted
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
@click.option("-y", "--yes", is_flag=True, help="Do not ask whether what newer runs wrote may be written over.")
@ACCEPT_NEW
@PARALLEL
@reconnect_option
@form_option("text", "json")
def command(
    *,
    run: str,
    again: tuple[str, ...],
    yes: bool,
    accept_new: bool,
    parallel: int,
    reconnect_s: float,
    form: str,
) -> int:
    """Take RUN up again: an id from `stackplan runs`, a part of it that no other run has, or `last`.

    What still runs on the nodes is watched to its end, what ended meanwhile counts, and what was not begun is begun. An
    action whose end is known is run again only where it failed and the node had ended with that. The playbook, the
    nodes and the variables are those of the run, secrets are read again. Nodes that failed are tried again, those that
    were finished are only proven once more. Where newer runs have changed a node since, they are named, and it is asked
    first.
    """
    state = state_folder(os.environ)
    name = find_run(state, run)
    journal = journal_path(state, name)
    _refuse_rollback(name, journal)
    if not kept_plan(journal).is_file():
        raise Invalid([_not_kept(name, journal)])
    prepared = prepare_kept(kept_plan(journal), accept_new=accept_new)
    _check_steps(again, prepared)
    done = _done(journal)
    unfinished = [it.node for it in prepared.targets if it.node.name not in done]
    if run != name:
        say(named(journal, name))
    if not yes and not goes_on(journal) and not may_go_on(name, unfinished, prepared.connect, parallel):
        say("Nothing was done.")
        return INTERRUPTED
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
        # Up to the last line of the report: a late Ctrl-C must not tear it.
        with stopping(stop):
            report = _resume(prepared, setting, Resumption(run=name, again=wanted))
            say()
            if not unfinished and report.outcome is NodeOutcome.OK:
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


def _done(journal: Path) -> frozenset[str]:
    """Return the nodes that the run has finished already. Raise Invalid where its journal cannot be believed."""
    events = read(journal) if journal.exists() else ()
    check_run(journal, events)
    return frozenset(node for node, past in pasts(events).items() if past.finished)


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
    return agreed("Run it again?")


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


def _refuse_rollback(run: str, journal: Path) -> None:
    """Raise Invalid for a run that is a rollback: that is done again, not resumed."""
    events = read(journal) if journal.is_file() and journal.stat().st_size else ()
    begun = next((event for event in events if isinstance(event, RunStarted)), None)
    if begun is None or begun.command != "rollback":
        return
    of = begun.of or next((event.of for event in events if isinstance(event, RestoreStarted)), "RUN")
    raise Invalid(
        [
            Diagnosis(
                summary=f"run {run} is a rollback, which is not resumed",
                remedy=f"`stackplan rollback {of}` puts back what is not yet as it was before run {of}",
            )
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
