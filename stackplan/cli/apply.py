"""`stackplan apply`: plan, ask, run, prove."""

import getpass
import os
import sys
from dataclasses import replace

import click

from stackplan.cli.ending import end
from stackplan.cli.failure import INTERRUPTED
from stackplan.cli.interrupt import stopping
from stackplan.cli.output import form_option, say, wants_colour, width
from stackplan.cli.preparation import Prepared, prepare
from stackplan.cli.progress import progress
from stackplan.cli.selection import Selection, selection_options, step_options
from stackplan.engine.apply import Setting, apply
from stackplan.engine.clock import SystemClock
from stackplan.engine.consult import Survey
from stackplan.engine.plan import plan
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

    The plan and the progress go to standard error, the report of the run to standard output.

    Ctrl-C lets running actions finish and starts no further step; a second one ends them on the nodes.
    """
    if not yes and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Invalid([_nobody_to_ask()])
    prepared = prepare(playbook, selection, only, first)
    planned = _planned(prepared, selection)
    if planned.outcome is not NodeOutcome.OK:
        say(text.render(planned, width=width(), colour=wants_colour(sys.stderr)))
        if not yes and not _agreed(len(prepared.targets)):
            say("Nothing was done.")
            return INTERRUPTED
    elif not yes:
        return end(replace(planned, command="apply"), form)
    return end(_applied(prepared, selection), form)


def _nobody_to_ask() -> Diagnosis:
    return Diagnosis(
        summary="there is no terminal to ask on whether this should be applied",
        remedy="look at `stackplan plan` first, then add `--yes`",
    )


def _planned(prepared: Prepared, selection: Selection) -> Report:
    prepared.say_that_nodes_are_asked()
    survey = Survey(redactor=prepared.redactor, clock=SystemClock(), parallel=selection.parallel)
    return plan(prepared.targets, prepared.connect, survey)


def _agreed(nodes: int) -> bool:
    return click.confirm(f"Apply this to {counted(nodes, 'node')}?", default=False, err=True)


def _applied(prepared: Prepared, selection: Selection) -> Report:
    stop = Stop()
    setting = Setting(
        state=state_folder(os.environ),
        redactor=prepared.redactor,
        operator=_operator(),
        clock=SystemClock(),
        stop=stop,
        parallel=selection.parallel,
    )
    terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    with stopping(stop), progress(terminal=terminal, write=say) as show:
        report = apply(prepared.targets, prepared.connect, setting, show)
    say()
    return report


def _operator() -> str:
    """Return the login of whoever runs this, for people to read in locks and journals."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"
