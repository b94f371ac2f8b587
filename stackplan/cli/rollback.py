"""`stackplan rollback`: show what a run wrote, ask, put it back, and prove that it is as it was."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from stackplan.cli.ending import end
from stackplan.cli.failure import INTERRUPTED
from stackplan.cli.interrupt import stopping
from stackplan.cli.login import login_name
from stackplan.cli.named_nodes import named_nodes
from stackplan.cli.output import form_option, say, say_on_terminal
from stackplan.cli.progress import progress
from stackplan.cli.question import agreed
from stackplan.cli.run_folder import KeptRun, kept_run, named
from stackplan.cli.selection import ACCEPT_NEW, PARALLEL, reconnect_option
from stackplan.connection.connect import connect
from stackplan.connection.failure import ConnectionFailure, RunGoesOn
from stackplan.connection.options import ConnectOptions
from stackplan.connection.session import Session
from stackplan.engine.apply import Setting, kept_plan
from stackplan.engine.clock import SystemClock
from stackplan.engine.consult import Survey
from stackplan.engine.left_running import next_step
from stackplan.engine.rollback import Undo, acted, foresee, roll_back, undo
from stackplan.engine.saved_plan import node_of
from stackplan.engine.saved_plan_file import read_plan
from stackplan.engine.state_folder import state_folder
from stackplan.engine.stop import Stop
from stackplan.engine.take_back import TakenBack, Thing
from stackplan.language.pattern import narrow
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.event import RunEnded, RunStarted
from stackplan.model.node import Inventory, Node
from stackplan.model.secret import Redactor
from stackplan.reports.count import counted, first_of
from stackplan.reports.node_text import names_text
from stackplan.reports.own_name import nameless
from stackplan.reports.safe import safe
from stackplan.reports.wording import change_text

MOST_CHANGES = 20
SINCE = 600
DONE = 0
NOT_PROVEN = 3


@click.command("rollback")
@click.argument("run")
@click.option("-l", "--limit", multiple=True, metavar="PATTERN", help="Only those of the run's nodes.")
@click.option(
    "-i",
    "--inventory",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="How the nodes are reached; else as they were when the run began.",
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask; needed where there is no terminal.")
@ACCEPT_NEW
@PARALLEL
@reconnect_option
@form_option("text", "json")
def command(
    *,
    run: str,
    limit: tuple[str, ...],
    inventory: Path | None,
    yes: bool,
    accept_new: bool,
    parallel: int,
    reconnect_s: float,
    form: str,
) -> int:
    """Put back what RUN wrote on its nodes: an id from `stackplan runs`, a part that no other run has, or `last`.

    Environments and files are put back from the snapshots that the run made ahead of its actions, and proven to be what
    they were. What scripts and other actions did is named, and stays: the last line of the text names these steps. Exit
    status 0 only when all that was put back is proven; 3 where nothing of what the run did on a node can be.
    """
    kept = kept_run(run).whole()
    if kept.going_on:
        raise RunGoesOn(kept.run, "its controller")
    if run != kept.run:
        say(named(kept.path, kept.run))
    undos = _undos(kept, inventory, limit)

    def reach(node: Node) -> Session:
        return connect(node, ConnectOptions(accept_new=accept_new))

    redactor = Redactor()
    if not yes:
        say_on_terminal(f"Asking {counted(len(undos), 'node')}…")
        survey = Survey(redactor=redactor, clock=SystemClock(), parallel=parallel)
        found = foresee(undos, reach, survey)
        say("\n".join(_preview(undos, found)))
        if not _worth_asking(found):
            if _changed_nothing(undos, found):
                say("The run had changed nothing: there is nothing to put back.")
                return DONE
            say("Nothing of this can be put back; nothing was done.")
            return NOT_PROVEN
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise Invalid([_nobody_to_ask()])
        if not agreed(f"Put this back on {counted(len(undos), 'node')}?"):
            say("Nothing was done.")
            return INTERRUPTED
    stop = Stop()
    setting = Setting(
        state=state_folder(os.environ),
        redactor=redactor,
        operator=login_name(),
        clock=SystemClock(),
        stop=stop,
        parallel=parallel,
        reconnect_s=reconnect_s,
    )
    terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    with stopping(stop):
        with progress(terminal=terminal, write=say) as show:
            report = roll_back(undos, reach, setting, show)
        say()
        return end(report, form)


def _worth_asking(found: Mapping[str, TakenBack | ConnectionFailure]) -> bool:
    """Return whether something is there that may be put back; of a node that cannot be asked now nobody knows."""
    return any(
        isinstance(told, ConnectionFailure) or any(thing.why is None for thing in told.things)
        for told in found.values()
    )


def _changed_nothing(undos: Sequence[Undo], found: Mapping[str, TakenBack | ConnectionFailure]) -> bool:
    """Return whether no action of the run changed anything, as it proved itself, and no node says otherwise."""
    answers = found.values()
    if not all(isinstance(told, TakenBack) and told.proven and not told.things for told in answers):
        return False
    return not any(done.stays or done.changed for target in undos for done in target.done.values())


def _nobody_to_ask() -> Diagnosis:
    return Diagnosis(
        summary="there is no terminal to ask on whether this should be put back",
        observed="nothing was done; what would be put back stands above",
        # Not the command written out: without its `--limit` it would put back other nodes, too.
        remedy="the same command with `--yes` does it",
    )


def _undos(kept: KeptRun, inventory: Path | None, limit: Sequence[str]) -> tuple[Undo, ...]:
    """Return what there is to take back, node by node. Raise Invalid where that is nothing, or nodes are not known."""
    begun = next(event for event in kept.events if isinstance(event, RunStarted))
    if begun.command == "rollback":
        summary = f"run {kept.run} is a rollback itself"
        remedy = "apply the playbook again to have its state back"
        if not isinstance(kept.events[-1], RunEnded):
            remedy = f"`stackplan rollback {begun.of or 'RUN'}` brings it to its end"
        raise Invalid([Diagnosis(summary=summary, remedy=remedy)])
    done = acted(kept.events)
    if not done:
        raise Invalid(
            [Diagnosis(summary=f"run {kept.run} started no action on any node: there is nothing to put back")]
        )
    nodes = _nodes(kept, tuple(done), inventory)
    if limit:
        nodes = narrow(_inventory(nodes), nodes, tuple(limit))
    found = tuple(undo(node, begun.playbook, kept.run, done[node.name]) for node in nodes if node.name in done)
    if not found:
        raise Invalid([_unknown_nodes(kept, tuple(done))])
    return found


def _unknown_nodes(kept: KeptRun, names: Sequence[str]) -> Diagnosis:
    return Diagnosis(
        summary=f"the plan that was kept with run {kept.run} has none of the nodes on which the run acted",
        expected=", ".join(names),
        observed=f"{kept_plan(kept.path)} is that of another run",
        remedy="`-i INVENTORY` tells how they are reached",
    )


def _inventory(nodes: Sequence[Node]) -> Inventory:
    """Return an inventory of these nodes alone, for patterns to be understood."""
    groups = dict.fromkeys(group for node in nodes for group in node.groups)
    members = {group: tuple(node.name for node in nodes if group in node.groups) for group in groups}
    return Inventory(path=None, nodes={node.name: node for node in nodes}, groups=members)


def _nodes(kept: KeptRun, names: tuple[str, ...], inventory: Path | None) -> tuple[Node, ...]:
    """Return the nodes on which the run acted, and how they are reached: as its plan has it, unless told otherwise."""
    plan = kept_plan(kept.path)
    if inventory is None and plan.is_file():
        found = tuple(node_of(planned) for planned in read_plan(plan).nodes)
        return tuple(node for node in found if node.name in names)
    return named_nodes(names, inventory, Path.cwd())


def _preview(undos: Sequence[Undo], found: Mapping[str, TakenBack | ConnectionFailure]) -> list[str]:
    """Return what would be put back on each node, and what cannot be; nodes with the same to be told stand together."""
    groups: dict[tuple[str, ...], list[tuple[str, list[str]]]] = {}
    for target in undos:
        lines = _of_node(target, found[target.node.name])
        key = tuple(nameless(line, target.node.name) for line in lines)
        groups.setdefault(key, []).append((target.node.name, lines))
    shown: list[str] = []
    for key, alike in groups.items():
        names = names_text(tuple(name for name, _ in alike))
        shown += [f"{names} ({len(alike)} nodes)", *key] if len(alike) > 1 else [names, *alike[0][1]]
    return shown


def _of_node(target: Undo, told: TakenBack | ConnectionFailure) -> list[str]:
    if isinstance(told, ConnectionFailure):
        return [f"  ? cannot be asked: {safe(str(told))}"]
    lines = [] if told.trouble is None else [f"  ✘ {safe(told.trouble)}"]
    for thing in told.things:
        lines += _thing(thing)
    known = {step for thing in told.things for step in thing.steps}
    for step, done in target.done.items():
        if step not in known:
            mark = "✘" if done.changed and not done.stays else "·"
            lines.append(f"  {mark} {safe(step)}: {safe(done.why_not_put_back, SINCE)}")
    running = target.left_running(told.things)
    lines += [f"  · {safe(it.warning, SINCE)}" for it in running]
    if (command := next_step(running)) is not None:
        lines.append(f"    once it is put back, {safe(command, SINCE)}")
    return lines


def _thing(thing: Thing) -> list[str]:
    steps = f" ({', '.join(safe(step) for step in thing.steps)})"
    if thing.why is not None:
        return [f"  ✘ {safe(thing.why)}{steps}"]
    if not thing.changes:
        return [f"  ✔ {safe(thing.path)} is as it was before the run{steps}"]
    lines = [f"  ↩ {safe(thing.path)}{steps}"]
    shown, left = first_of(thing.changes, MOST_CHANGES)
    lines += [f"      {change_text(change)}" for change in shown]
    if left:
        lines.append(f"      and {left} more")
    if (since := thing.changed_since) is not None:
        lines.append(f"      {safe(since, SINCE)}")
        lines.append("      what is replaced is therefore kept beside it, under a name that the report tells")
    if thing.later:
        lines.append(f"      written since by {safe(', '.join(thing.later), SINCE)}, which is taken back with it")
    return lines
