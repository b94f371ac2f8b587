"""`stackplan apply`: plan, ask, run, prove."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import click

from stackplan.cli.ending import end
from stackplan.cli.failure import INTERRUPTED
from stackplan.cli.interrupt import stopping
from stackplan.cli.login import login_name
from stackplan.cli.output import form_option, say, wants_colour, width
from stackplan.cli.preparation import Prepared, prepare
from stackplan.cli.progress import progress
from stackplan.cli.saved import prepare_saved
from stackplan.cli.selection import Selection, selection_options, step_options
from stackplan.cli.variables import variables_of
from stackplan.engine.apply import Setting, apply
from stackplan.engine.clock import SystemClock
from stackplan.engine.plan import node_plans, plan, plan_report
from stackplan.engine.recheck import failing, recheck, recheck_renderings
from stackplan.engine.saved_plan_file import is_plan_file
from stackplan.engine.state_folder import state_folder
from stackplan.engine.stop import Stop
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.outcome import NodeOutcome
from stackplan.model.report import Report
from stackplan.reports import text
from stackplan.reports.wording import counted


@click.command("apply")
@click.argument("playbook")
@selection_options
@step_options
@click.option("-y", "--yes", is_flag=True, help="Do not ask; needed where there is no terminal.")
@form_option("text", "json")
def command(
    playbook: str, selection: Selection, only: tuple[str, ...], first: str | None, form: str, *, yes: bool
) -> int:
    """Plan PLAYBOOK, ask, run its steps on each node and prove each of them; stop where one is not proven.

    Where PLAYBOOK is a plan that `stackplan plan -o` saved, exactly that is applied, and nothing when anything that it
    rests on has moved since (exit status 6).

    The plan and the progress go to standard error, the report of the run to standard output.

    Ctrl-C lets running actions finish and starts no further step; a second one ends them on the nodes.
    """
    if not yes and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Invalid([_nobody_to_ask()])
    if is_plan_file(Path(playbook)):
        return _apply_plan(Path(playbook), selection, only, first, form, yes=yes)
    prepared = prepare(playbook, selection, only, first)
    planned = _planned(prepared, selection)
    return _go_ahead(prepared, selection, planned, form, yes=yes)


def _apply_plan(
    path: Path, selection: Selection, only: tuple[str, ...], first: str | None, form: str, *, yes: bool
) -> int:
    """Apply what a saved plan holds, and nothing once anything has moved on any of its nodes."""
    prepared = prepare_saved(path, selection, only, first)
    if (refusal := recheck_renderings(prepared.targets)) is not None:
        return end(refusal, form)
    prepared.say_that_nodes_are_asked()
    survey = prepared.survey(selection.parallel)
    plans = node_plans(prepared.targets, prepared.connect, survey)
    planned = plan_report(prepared.targets, plans, survey)
    if (refusal := recheck(prepared.targets, plans) or failing(planned)) is not None:
        return end(refusal, form)
    return _go_ahead(prepared, selection, planned, form, yes=yes)


def _go_ahead(prepared: Prepared, selection: Selection, planned: Report, form: str, *, yes: bool) -> int:
    """Show the plan, ask where that is wanted, and run it."""
    if planned.outcome is not NodeOutcome.OK:
        say(text.render(planned, width=width(), colour=wants_colour(sys.stderr)))
        if not yes and not _agreed(len(prepared.targets)):
            say("Nothing was done.")
            return INTERRUPTED
    elif not yes:
        return end(replace(planned, command="apply"), form)
    return _apply_and_end(prepared, selection, planned, form)


def _nobody_to_ask() -> Diagnosis:
    return Diagnosis(
        summary="there is no terminal to ask on whether this should be applied",
        remedy="look at `stackplan plan` first, then add `--yes`",
    )


def _planned(prepared: Prepared, selection: Selection) -> Report:
    prepared.say_that_nodes_are_asked()
    survey = prepared.survey(selection.parallel)
    return plan(prepared.targets, prepared.connect, survey)


def _agreed(nodes: int) -> bool:
    return click.confirm(f"Apply this to {counted(nodes, 'node')}?", default=False, err=True)


def _apply_and_end(prepared: Prepared, selection: Selection, planned: Report, form: str) -> int:
    stop = Stop()
    setting = Setting(
        state=state_folder(os.environ),
        redactor=prepared.redactor,
        operator=login_name(),
        clock=SystemClock(),
        stop=stop,
        parallel=selection.parallel,
        variables=variables_of(prepared.scopes.values()),
    )
    terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    # Up to the last line of the report: a late Ctrl-C must not tear it.
    with stopping(stop):
        with progress(terminal=terminal, write=say) as show:
            report = apply(prepared.targets, prepared.connect, setting, show, planned)
        say()
        return end(report, form)
