"""`stackplan verify`: every postcondition, now; changes nothing."""

import click

from stackplan.cli.ending import end
from stackplan.cli.output import form_option
from stackplan.cli.preparation import prepare
from stackplan.cli.selection import Selection, selection_options
from stackplan.cli.variables import with_variables
from stackplan.engine.clock import SystemClock
from stackplan.engine.consult import Survey
from stackplan.engine.verify import verify


@click.command("verify")
@click.argument("playbook")
@selection_options
@form_option("text", "json")
def command(playbook: str, selection: Selection, form: str) -> int:
    """Check every postcondition of PLAYBOOK on each node now; changes nothing. Exit status 3 when one does not hold."""
    prepared = prepare(playbook, selection)
    prepared.say_that_nodes_are_asked()
    survey = Survey(redactor=prepared.redactor, clock=SystemClock(), parallel=selection.parallel)
    return end(with_variables(verify(prepared.targets, prepared.connect, survey), prepared), form)
