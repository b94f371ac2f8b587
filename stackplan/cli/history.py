"""`stackplan history`: what was applied to a node, as the node itself remembers it."""

import sys
from pathlib import Path

import click

from stackplan.cli.failure import BUG, UNREACHABLE
from stackplan.cli.named_nodes import named_nodes
from stackplan.cli.output import form_option, result, say_on_terminal, wants_colour, width
from stackplan.connection.connect import connect
from stackplan.connection.failure import ConnectionFailure
from stackplan.connection.options import ConnectOptions
from stackplan.engine.bug import Bug
from stackplan.engine.remember import remember
from stackplan.model.history import NodeHistory
from stackplan.reports import history
from stackplan.reports.count import counted

MOST = 20


@click.command("history")
@click.option("-n", "--node", "nodes", multiple=True, metavar="NODE", help="A node or pattern, or USER@HOST:PORT.")
@click.option(
    "-i",
    "--inventory",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Inventory; else the nearest inventory.yaml upwards from here. Without `-n`, all of its nodes.",
)
@click.option("--local", is_flag=True, help="This machine.")
@click.option("--accept-new", is_flag=True, help="Record the key of a host that is not known yet.")
@click.option(
    "--parallel", type=click.IntRange(1, 500), default=10, show_default=True, metavar="N", help="Nodes at a time."
)
@click.option("--last", "most", type=click.IntRange(1), default=MOST, show_default=True, metavar="N", help="How many.")
@click.option("--all", "every", is_flag=True, help="All runs that the node remembers.")
@form_option("text", "json")
def command(
    *,
    nodes: tuple[str, ...],
    inventory: Path | None,
    accept_new: bool,
    parallel: int,
    most: int,
    form: str,
    local: bool,
    every: bool,
) -> int:
    """Tell which runs took a node: when, which playbook at which git revision, by whom, and how each ended.

    It is kept on the node for the login that the runs used, and is there also where the run's own journal is not.
    """
    chosen = named_nodes(nodes, inventory, Path.cwd(), local=local)
    say_on_terminal(f"Asking {counted(len(chosen), 'node')}…")
    options = ConnectOptions(accept_new=accept_new)
    found = remember(chosen, lambda node: connect(node, options), parallel)
    told = [_told(node, it) for node, it in found.items()]
    if form == "json":
        result(history.render_json(told))
    else:
        most = max(len(it.runs) for it in told) + 1 if every else most
        result(history.render_text(told, most, width=width(), colour=wants_colour(sys.stdout)))
    if any(isinstance(it, Bug) for it in found.values()):
        return BUG
    unanswered = any(isinstance(it, ConnectionFailure) or it.why_not is not None for it in found.values())
    return UNREACHABLE if unanswered else 0


def _told(node: str, found: NodeHistory | ConnectionFailure) -> NodeHistory:
    if isinstance(found, ConnectionFailure):
        return NodeHistory(node=node, why_not=found.summary, remedy=found.remedy)
    return found
