"""Before an old run is taken up: what was run on its nodes since, and whether that may be written over."""

import sys
from collections.abc import Iterator, Sequence

from stackplan.cli.output import say, say_on_terminal
from stackplan.cli.question import agreed
from stackplan.engine.newer_runs import newer_runs
from stackplan.engine.remember import remember
from stackplan.engine.target import Connect
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.history import NodeHistory, PastRun
from stackplan.model.node import Node
from stackplan.reports.count import first_of
from stackplan.reports.runs import time_text
from stackplan.reports.safe import safe

MOST = 5


def may_go_on(run: str, nodes: Sequence[Node], connect: Connect, parallel: int) -> bool:
    """Name the runs that came to `nodes` after `run`, if there are any, and return whether the operator goes on.

    A node that cannot be asked is passed over: nothing can be run there either. Raise Invalid without a terminal.
    """
    if not nodes:
        return True
    say_on_terminal("Asking the nodes what was run there since…")
    found = remember(nodes, connect, parallel)
    newer = {
        node: runs
        for node, history in found.items()
        if isinstance(history, NodeHistory) and (runs := newer_runs(history, run))
    }
    if not newer:
        return True
    say(f"Other runs came after run {run}. To take it up again writes over what they wrote where the two differ:")
    for node, runs in newer.items():
        say("\n".join(_lines(node, runs)))
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Invalid([_nobody_to_ask(run)])
    return agreed(f"Take run {run} up again?")


def _lines(node: str, runs: tuple[PastRun, ...]) -> Iterator[str]:
    shown, left = first_of(runs, MOST)
    for past in shown:
        command = "" if past.command == "apply" else f" ({safe(past.command, 20)})"
        who = f"{safe(past.operator, 40)} on {safe(past.host, 40)}"
        yield (
            f"    {safe(node)}: run {safe(past.run, 60)}, playbook {safe(past.playbook, 60)}{command}, "
            f"{time_text(past.began)} by {who}"
        )
    if left:
        yield f"    {safe(node)}: and {left} more; `stackplan history` lists them"


def _nobody_to_ask(run: str) -> Diagnosis:
    return Diagnosis(
        summary="there is no terminal to ask on whether what newer runs wrote may be written over",
        remedy=f"look at `stackplan history` first, then add `--yes` to take run {run} up all the same",
    )
