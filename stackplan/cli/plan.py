"""`stackplan plan`: what each step stands at on each node, and what would run; changes nothing."""

from pathlib import Path

import click

from stackplan.cli.ending import end
from stackplan.cli.output import form_option
from stackplan.cli.preparation import prepare
from stackplan.cli.selection import Selection, selection_options, step_options
from stackplan.engine.clock import SystemClock
from stackplan.engine.consult import Survey
from stackplan.engine.facts_file import read_folder
from stackplan.engine.plan import plan, plan_recorded


@click.command("plan")
@click.argument("playbook")
@selection_options
@step_options
@click.option(
    "--facts",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Plan on facts that `stackplan facts` recorded; no node is asked.",
)
@click.option("--detailed-exitcode", is_flag=True, help="Exit status 5 when there is something to change.")
@form_option("text", "json")
def command(
    *,
    playbook: str,
    selection: Selection,
    only: tuple[str, ...],
    first: str | None,
    facts: Path | None,
    form: str,
    detailed_exitcode: bool,
) -> int:
    """Say what each step of PLAYBOOK stands at on each node and what would run there; changes nothing."""
    prepared = prepare(playbook, selection, only, first)
    survey = Survey(redactor=prepared.redactor, clock=SystemClock(), parallel=selection.parallel)
    if facts is not None:
        report = plan_recorded(prepared.targets, read_folder(facts), survey)
    else:
        prepared.say_that_nodes_are_asked()
        report = plan(prepared.targets, prepared.connect, survey)
    return end(report, form, detailed=detailed_exitcode)
