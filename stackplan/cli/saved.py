"""`apply PLANFILE`: from a saved plan to what the engine takes. Nothing but the plan is read, and secrets."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

from stackplan.cli.preparation import Prepared, prepare_nodes
from stackplan.cli.selection import Selection
from stackplan.cli.steps import narrowed
from stackplan.engine.permit import Permit
from stackplan.engine.saved_plan import PlannedNode, SavedPlan, node_of
from stackplan.engine.saved_plan_file import read_plan
from stackplan.language import playbook as playbooks
from stackplan.language.pattern import narrow
from stackplan.language.secrets import Secrets
from stackplan.language.snapshot import Snapshot, SnapshotFile
from stackplan.language.variables import settled
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.node import Inventory, Node
from stackplan.model.playbook import Playbook


def prepare_saved(path: Path, selection: Selection, only: tuple[str, ...], first: str | None) -> Prepared:
    """Return everything that is known before a node is asked, each target with what the plan permits there.

    Raise Invalid for a plan that cannot be used, for flags that would make another one of it, and for a secret that
    cannot be read.
    """
    if refused := [*_refused(selection, only, first)]:
        raise Invalid(refused)
    plan = read_plan(path)
    prepared = _prepared(path, plan, selection.limit, accept_new=selection.accept_new)
    plans = {it.node.name: it.plan for it in plan.nodes}
    targets = tuple(
        replace(it, permit=Permit(plan=plans[it.node.name], redactor=prepared.redactor)) for it in prepared.targets
    )
    taken = {target.node.name for target in targets}
    return replace(prepared, targets=targets, plan=replace(plan, nodes=_of(plan, taken)))


def _of(plan: SavedPlan, names: Collection[str]) -> tuple[PlannedNode, ...]:
    return tuple(it for it in plan.nodes if it.node.name in names)


def prepare_kept(path: Path, *, accept_new: bool) -> Prepared:
    """Return everything that is known of a run whose plan was kept at `path`, before a node is asked.

    Its nodes need not be as they were then: what the run has done so far is different now. Raise Invalid.
    """
    return _prepared(path, read_plan(path), (), accept_new=accept_new)


def _prepared(path: Path, plan: SavedPlan, limit: tuple[str, ...], *, accept_new: bool) -> Prepared:
    snapshot = _snapshot(plan)
    playbook = narrowed(_playbook(path, plan, snapshot), plan.selection.only, plan.selection.first)
    secrets = Secrets(folder=Path(plan.sources.folder))
    return prepare_nodes(
        playbook,
        _nodes(plan, limit),
        lambda node: settled(node.variables, node, playbook.sources, secrets),
        secrets,
        snapshot,
        accept_new=accept_new,
    )


def _refused(selection: Selection, only: tuple[str, ...], first: str | None) -> Iterator[Diagnosis]:
    """Yield a diagnosis for each flag that a plan has an answer to already."""
    variables = "its variables are those that the plan was made with"
    nodes = "how its nodes are reached is in the plan; `-l` leaves some of them out"
    steps = "its steps are those that the plan was made for"
    for flag, given, why in (
        ("--var", selection.assignments, variables),
        ("--vars", selection.variable_files, variables),
        ("-i", selection.inventory, nodes),
        ("-n", selection.nodes, nodes),
        ("--local", selection.local, nodes),
        ("--step", only, steps),
        ("--from", first, steps),
    ):
        if given:
            summary = f"`{flag}` cannot be used with a saved plan: {why}"
            yield Diagnosis(summary=summary, remedy=f"give `{flag}` to `stackplan plan -o`, and apply that plan")


def _snapshot(plan: SavedPlan) -> Snapshot:
    files = (SnapshotFile(path=it.path, resolved=it.resolved, text=it.text) for it in plan.sources.files)
    return Snapshot(Path(plan.sources.folder), Path(plan.sources.root), files, plan.playbook.revision)


def _playbook(path: Path, plan: SavedPlan, snapshot: Snapshot) -> Playbook:
    playbook = playbooks.read(Path(plan.playbook.path), files=snapshot)
    if playbook.sha256 != plan.playbook.sha256:
        summary = f"the plan {path} cannot be used: the playbook in it is not the one that it was made from"
        remedy = "make a new one with `stackplan plan PLAYBOOK -o FILE`"
        raise Invalid(
            [Diagnosis(summary=summary, expected=plan.playbook.sha256, observed=playbook.sha256, remedy=remedy)]
        )
    return playbook


def _nodes(plan: SavedPlan, limit: tuple[str, ...]) -> tuple[Node, ...]:
    nodes = {node.name: node for node in map(node_of, plan.nodes)}
    groups = {
        group: tuple(name for name, node in nodes.items() if group in node.groups)
        for group in dict.fromkeys(group for node in nodes.values() for group in node.groups)
    }
    inventory = Inventory(None, nodes, groups)
    return narrow(inventory, nodes.values(), limit) if limit else tuple(nodes.values())
