"""`stackplan facts`: what a playbook asks of each node, recorded for planning without the nodes."""

from pathlib import Path

import click

from stackplan.cli.failure import BUG, INTERRUPTED, UNREACHABLE
from stackplan.cli.output import result, say
from stackplan.cli.preparation import prepare
from stackplan.cli.selection import Selection, audit_option, selection_options
from stackplan.connection.failure import ConnectionFailure
from stackplan.engine.bug import Bug
from stackplan.engine.gather import record
from stackplan.engine.interruption import Interrupted
from stackplan.reports.safe import safe, safe_paragraphs


@click.command("facts")
@click.argument("playbook")
@selection_options
@audit_option
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    metavar="DIR",
    help="Where to write a file for each node.",
)
def command(*, playbook: str, selection: Selection, folder: Path, audit: bool) -> int:
    """Record what PLAYBOOK asks of each node, a file a node; `stackplan plan --facts DIR` plans on them."""
    prepared = prepare(playbook, selection)
    prepared.say_that_nodes_are_asked()
    survey = prepared.survey(selection.parallel, audit=audit)
    status = 0
    for node, found in record(prepared.targets, prepared.connect, survey, folder).items():
        if isinstance(found, Path):
            result(f"{safe(str(found))}\n")
            continue
        status = _worse(status, found)
        say(f"{safe(node)}: {safe_paragraphs(prepared.redactor.text(found.summary))}")
        if found.remedy:
            say(f"  {safe_paragraphs(found.remedy)}")
    if status == INTERRUPTED:
        say("Interrupted.")
    return status


def _worse(status: int, failure: ConnectionFailure) -> int:
    """Return the exit status that goes first: of what came before, and of a node that could not be recorded."""
    found = BUG if isinstance(failure, Bug) else INTERRUPTED if isinstance(failure, Interrupted) else UNREACHABLE
    return min(status or found, found, key=(BUG, INTERRUPTED, UNREACHABLE).index)
