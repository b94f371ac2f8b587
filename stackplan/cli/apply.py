"""`stackplan apply`: plan, ask, run, prove."""

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from stackplan.cli.ending import end
from stackplan.cli.failure import INTERRUPTED
from stackplan.cli.interrupt import stopping
from stackplan.cli.login import login_name
from stackplan.cli.output import form_option, say, wants_colour, width
from stackplan.cli.preparation import Prepared, prepare
from stackplan.cli.progress import progress
from stackplan.cli.question import agreed
from stackplan.cli.saved import prepare_saved
from stackplan.cli.saving import plan_to_keep
from stackplan.cli.selection import Selection, audit_option, reconnect_option, selection_options, step_options
from stackplan.cli.variables import variables_of, with_variables
from stackplan.engine.apply import Setting, apply
from stackplan.engine.clock import SystemClock
from stackplan.engine.plan import node_plans, plan, plan_report
from stackplan.engine.recheck import failing, recheck, recheck_renderings
from stackplan.engine.saved_plan import Selection as Chosen
from stackplan.engine.saved_plan_file import is_plan_file
from stackplan.engine.state_folder import state_folder
from stackplan.engine.stop import Stop
from stackplan.language.snapshot import Noting
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.frozen import dataclass
from stackplan.model.outcome import NodeOutcome
from stackplan.model.report import Report
from stackplan.reports import foretold_stop, text
from stackplan.reports.count import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What was asked for besides the playbook."""

    selection: Selection
    only: tuple[str, ...]
    first: str | None
    form: str
    yes: bool
    audit: bool
    reconnect_s: float


@click.command("apply")
@click.argument("playbook")
@selection_options
@step_options
@click.option("-y", "--yes", is_flag=True, help="Do not ask; needed where there is no terminal.")
@audit_option
@reconnect_option
@form_option("text", "json")
def command(playbook: str, **order: Any) -> int:
    """Plan PLAYBOOK, ask, run its steps on each node and prove each of them; stop where one is not proven.

    Where PLAYBOOK is a plan that `stackplan plan -o` saved, exactly that is applied, and nothing when anything that it
    rests on has moved since (exit status 6).

    The plan and the progress go to standard error, the report of the run to standard output.

    Ctrl-C lets running actions finish and starts no further step; a second one ends them on the nodes. Whatever ends a
    run early, `stackplan resume RUN` takes it up again.
    """
    asked = Order(**order)
    if not asked.yes and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Invalid([_nobody_to_ask()])
    if is_plan_file(Path(playbook)):
        return _apply_plan(Path(playbook), asked)
    files = Noting()
    prepared = prepare(playbook, asked.selection, asked.only, asked.first, files=files)
    chosen = Chosen(only=asked.only, first=asked.first)
    prepared = replace(prepared, plan=plan_to_keep(prepared, files, chosen, SystemClock().now()))
    return _go_ahead(prepared, _planned(prepared, asked), asked)


def _apply_plan(path: Path, asked: Order) -> int:
    """Apply what a saved plan holds, and nothing once anything has moved on any of its nodes."""
    prepared = prepare_saved(path, asked.selection, asked.only, asked.first)
    if (refusal := recheck_renderings(prepared.targets)) is not None:
        return end(refusal, asked.form)
    prepared.say_that_nodes_are_asked()
    # Nothing that a saved plan rests on comes from an audit, and whoever made the plan was shown it.
    survey = prepared.survey(asked.selection.parallel, audit=False)
    plans = node_plans(prepared.targets, prepared.connect, survey)
    planned = plan_report(prepared.targets, plans, survey)
    if (refusal := recheck(prepared.targets, plans) or failing(planned)) is not None:
        return end(refusal, asked.form)
    return _go_ahead(prepared, planned, asked)


def _go_ahead(prepared: Prepared, planned: Report, asked: Order) -> int:
    """Show the plan, ask where that is wanted, and run it; who interrupted the plan wants no more of it."""
    if planned.outcome is NodeOutcome.INTERRUPTED:
        return end(replace(planned, command="apply"), asked.form)
    if planned.outcome is not NodeOutcome.OK:
        shown = with_variables(planned, prepared)
        say(text.render(shown, width=width(), colour=wants_colour(sys.stderr)))
        if warning := foretold_stop.render(planned, width=width(), colour=wants_colour(sys.stderr)):
            say(f"{warning}\n")
        if not asked.yes and not _agreed(len(prepared.targets), would_fail=bool(warning)):
            say("Nothing was done.")
            return INTERRUPTED
    elif not asked.yes:
        return end(replace(planned, command="apply"), asked.form)
    return _apply_and_end(prepared, planned, asked)


def _nobody_to_ask() -> Diagnosis:
    return Diagnosis(
        summary="there is no terminal to ask on whether this should be applied",
        remedy="look at `stackplan plan` first, then add `--yes`",
    )


def _planned(prepared: Prepared, asked: Order) -> Report:
    prepared.say_that_nodes_are_asked()
    survey = prepared.survey(asked.selection.parallel, audit=asked.audit)
    return plan(prepared.targets, prepared.connect, survey)


def _agreed(nodes: int, *, would_fail: bool) -> bool:
    although = ", although a step would fail" if would_fail else ""
    return agreed(f"Apply this to {counted(nodes, 'node')}{although}?")


def _apply_and_end(prepared: Prepared, planned: Report, asked: Order) -> int:
    if prepared.plan is None:
        say("A secret stands in clear in what a plan would have to carry, so none is kept: this run cannot be resumed.")
    stop = Stop()
    setting = Setting(
        state=state_folder(os.environ),
        redactor=prepared.redactor,
        operator=login_name(),
        clock=SystemClock(),
        stop=stop,
        parallel=asked.selection.parallel,
        variables=variables_of(prepared.scopes.values()),
        reconnect_s=asked.reconnect_s,
        plan=prepared.plan,
    )
    terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    # Up to the last line of the report: a late Ctrl-C must not tear it.
    with stopping(stop):
        with progress(terminal=terminal, write=say) as show:
            report = apply(prepared.targets, prepared.connect, setting, show, planned)
        say()
        return end(report, asked.form)
