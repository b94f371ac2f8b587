"""`stackplan runs`: the runs that were made from here."""

import fnmatch
import os
import sys
from itertools import islice

import click

from stackplan.cli.output import form_option, result, wants_colour, width
from stackplan.engine.runs import run_ids, run_lines, with_rollbacks
from stackplan.engine.state_folder import state_folder
from stackplan.model.run_line import RunLine
from stackplan.reports import runs

MOST = 30


@click.command("runs")
@click.option("-n", "--node", "nodes", multiple=True, metavar="NODE", help="Only runs on this node, or on a glob.")
@click.option("--last", "most", type=click.IntRange(1), default=MOST, show_default=True, metavar="N", help="How many.")
@click.option("--all", "every", is_flag=True, help="All of them.")
@form_option("text", "json")
def command(nodes: tuple[str, ...], most: int, form: str, *, every: bool) -> int:
    """List the runs in the state folder, the newest first: when, what, on which nodes, by whom, and how it ended.

    A run whose controller lives is going on; one that ended without a word can be taken up by `stackplan resume RUN`.
    """
    state = state_folder(os.environ)
    ids = run_ids(state)
    if nodes:
        found = [line for line in with_rollbacks(run_lines(state, ids)) if _concerns(line, nodes)]
        lines, left_out = (found, 0) if every else (found[:most], max(0, len(found) - most))
    else:
        # A rollback is newer than its run, so it is among those that are read.
        lines = list(with_rollbacks(run_lines(state, ids if every else islice(ids, most))))
        left_out = len(ids) - len(lines)
    if form == "json":
        result(runs.render_json(lines, left_out))
    else:
        result(runs.render_text(lines, left_out, width=width(), colour=wants_colour(sys.stdout)))
    return 0


def _concerns(line: RunLine, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(node, pattern) for node in line.nodes for pattern in patterns)
