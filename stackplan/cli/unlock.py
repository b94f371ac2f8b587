"""`stackplan unlock`: who holds a node, and the end of that where it is wanted."""

import socket
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from stackplan.cli.failure import INTERRUPTED, LOCKED, UNREACHABLE
from stackplan.cli.login import login_name
from stackplan.cli.named_nodes import named_nodes
from stackplan.cli.output import result, say
from stackplan.cli.question import agreed
from stackplan.cli.selection import ACCEPT_NEW
from stackplan.connection.connect import connect
from stackplan.connection.failure import ConnectionFailure
from stackplan.connection.holders import Holders, LivingJob
from stackplan.connection.options import ConnectOptions
from stackplan.connection.session import Session
from stackplan.engine.clock import SystemClock
from stackplan.engine.stop import Stop
from stackplan.engine.unlock import GRACE_S, break_lock
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.node import Node
from stackplan.model.quantity import duration_text
from stackplan.reports.safe import safe

_WORST = (INTERRUPTED, LOCKED, UNREACHABLE, 0)


@click.command("unlock")
@click.argument("names", nargs=-1, metavar="NODE…")
@click.option("-n", "--node", "nodes", multiple=True, metavar="NODE", help="As NODE; USER@HOST:PORT is one, too.")
@click.option(
    "-i",
    "--inventory",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Inventory; else the nearest inventory.yaml upwards from here.",
)
@click.option("--local", is_flag=True, help="This machine.")
@ACCEPT_NEW
@click.option("-y", "--yes", is_flag=True, help="Do not ask; needed where there is no terminal.")
def command(
    *,
    names: tuple[str, ...],
    nodes: tuple[str, ...],
    inventory: Path | None,
    local: bool,
    accept_new: bool,
    yes: bool,
) -> int:
    """Say who holds each NODE and what runs there, ask, end that, and prove that nothing of it lives.

    NODE is one of the inventory, a pattern, or USER@HOST:PORT. Breaking a lock ends the step that runs under it in the
    middle of what it does: a `stackplan resume` of its run, or another run, finds the node as it was left.

    Exit status 0 when nobody holds any of the nodes, 7 when one is still held.
    """
    chosen = named_nodes((*names, *nodes), inventory, Path.cwd(), local=local)
    options = ConnectOptions(accept_new=accept_new)
    found = {_unlock(node, options, yes=yes) for node in chosen}
    return next(status for status in _WORST if status in found)


def _unlock(node: Node, options: ConnectOptions, *, yes: bool) -> int:
    name = safe(node.name)
    try:
        with connect(node, options) as session:
            return _unlock_connected(name, session, yes=yes)
    except ConnectionFailure as error:
        say(f"{name}: {safe(error.summary)}" + (f"\n  {safe(error.remedy)}" if error.remedy else ""))
        return UNREACHABLE


def _unlock_connected(name: str, session: Session, *, yes: bool) -> int:
    held = session.holders()
    if held.none:
        result(f"{name}: nobody holds it, and nothing of any run lives there\n")
        return 0
    say("\n".join(_described(name, held)))
    if not yes and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Invalid([_nobody_to_ask()])
    if not yes and not agreed(f"End this and break the lock of {name}?"):
        say("Nothing was done.")
        return INTERRUPTED
    by = {"operator": login_name(), "host": socket.gethostname()}
    left = break_lock(session, by, SystemClock(), Stop())
    if left.none:
        result(f"{name}: nothing of it lives any more, and the lock is free\n")
        return 0
    say("\n".join(["It could not be ended:", *_described(name, left)]))
    return LOCKED


def _described(name: str, held: Holders) -> list[str]:
    """Return the lines that say who holds a node, what runs there, and what breaking the lock would mean."""
    lines = [f"{name}: {_holder(held)}"]
    lines += [f"    {_job(job)}" for job in held.jobs]
    if not held.jobs:
        lines.append("    no step runs there at the moment")
    if held.programs:
        numbers = ", ".join(str(pid) for pid in sorted(held.programs))
        lines.append(f"    its controller is connected (process {numbers} on the node): the run goes on")
    elif held.held:
        lines.append("    its controller is gone")
    lines.append(
        f"    Breaking the lock ends all of this: TERM, and KILL after {duration_text(GRACE_S)}. "
        "What a step had done so far stays."
    )
    if held.owner is not None:
        lines.append(f"    `stackplan resume {safe(held.owner.run)}` takes the run up instead, or afterwards.")
    return lines


def _holder(held: Holders) -> str:
    if not held.held:
        return "nobody holds it, but something of a run lives there"
    if held.owner is None:
        return "held by a run that does not say which"
    owner = held.owner
    age = "" if held.age_s is None else f", for {duration_text(held.age_s)}"
    return safe(
        f"held by run {owner.run} of {owner.operator} on {owner.host} "
        f"(playbook {owner.playbook}, since {owner.time}{age})",
        300,
    )


def _job(job: LivingJob) -> str:
    return f"{safe(job.text)}: {_processes(job.processes)}"


def _processes(processes: Mapping[int, str]) -> str:
    return ", ".join(f"{safe(name)} ({pid})" for pid, name in sorted(processes.items())) or "no process is to be seen"


def _nobody_to_ask() -> Diagnosis:
    return Diagnosis(
        summary="there is no terminal to ask on whether the lock should be broken", remedy="add `--yes` to break it"
    )
