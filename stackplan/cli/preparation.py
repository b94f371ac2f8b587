"""From words on the command line to what the engine takes: the playbook, and that of each node, rendered and bound."""

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from pathlib import Path

from stackplan.cli.output import say, say_on_terminal
from stackplan.cli.places import find_playbook
from stackplan.cli.rendering import Renderings
from stackplan.cli.same_selection import same_selection
from stackplan.cli.selection import Selection
from stackplan.cli.steps import narrowed
from stackplan.engine.clock import SystemClock
from stackplan.engine.consult import Survey
from stackplan.engine.node_session import NodeSession
from stackplan.engine.saved_plan import SavedPlan
from stackplan.engine.target import Connect, Target
from stackplan.language import inventory as inventories
from stackplan.language import playbook as playbooks
from stackplan.language import source
from stackplan.language.pattern import narrow, select, select_of
from stackplan.language.project import Files
from stackplan.language.secrets import Secrets, passwords_in
from stackplan.language.variables import Scope, scope
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.frozen import dataclass
from stackplan.model.node import Inventory, Node
from stackplan.model.playbook import Playbook
from stackplan.model.quantity import duration_text
from stackplan.model.secret import Redactor
from stackplan.reports.count import counted
from stackplan.reports.safe import safe

MOST_NAMES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What a command works on. `redactor` knows every secret that any node's playbook holds; `scopes` are by node.

    `plan` is what is kept of it, so that a run can be taken up again; None where nothing may be kept, or none is begun.
    """

    playbook: Playbook
    targets: tuple[Target, ...]
    redactor: Redactor
    connect: Connect
    scopes: Mapping[str, Scope] = field(default_factory=dict)
    plan: SavedPlan | None = None

    def say_that_nodes_are_asked(self) -> None:
        """Tell whoever waits at a terminal what is being waited for."""
        say_on_terminal(f"Asking {counted(len(self.targets), 'node')}…")

    def survey(self, parallel: int, *, audit: bool = True) -> Survey:
        """Return how these nodes are looked at; of an answer that takes long a line is said, in logs too."""
        return Survey(
            redactor=self.redactor,
            clock=SystemClock(),
            parallel=parallel,
            audit=audit,
            on_waiting=_say_what_is_awaited,
        )


def _say_what_is_awaited(node: str, what: str, seconds: float) -> None:
    say(f"{safe(node)}: waiting for {safe(what)}, {duration_text(seconds)} so far")


def prepare(
    name: str,
    selection: Selection,
    only: tuple[str, ...] = (),
    first: str | None = None,
    *,
    secrets: Secrets | None = None,
    files: Files | None = None,
) -> Prepared:
    """Return everything that is known before a node is asked. Raise Invalid with all that is wrong."""
    path = find_playbook(name, selection.inventory, Path.cwd())
    playbook = narrowed(playbooks.read(path, files=files), only, first)
    return prepare_read(playbook, path, selection, secrets or Secrets(), files)


def prepare_read(
    playbook: Playbook, path: Path, selection: Selection, secrets: Secrets, files: Files | None = None
) -> Prepared:
    """Return the same of a playbook that was read already, from `files` where not from the disk. Raise Invalid."""
    nodes = _nodes(playbook, path, selection)
    playbook = replace(playbook, selected_by=same_selection(selection, playbook))

    def scope_of(node: Node) -> Scope:
        return scope(playbook, node, selection.variable_files, selection.assignments, secrets=secrets)

    return prepare_nodes(playbook, nodes, scope_of, secrets, files, accept_new=selection.accept_new)


def prepare_nodes(
    playbook: Playbook,
    nodes: tuple[Node, ...],
    scope_of: Callable[[Node], Scope],
    secrets: Secrets,
    files: Files | None = None,
    *,
    accept_new: bool = False,
) -> Prepared:
    """Return the same for nodes that were selected already. Raise Invalid with what is wrong for any of them."""
    scopes: dict[str, Scope] = {}
    try:
        targets = _targets(playbook, nodes, scope_of, scopes, files)
    except Invalid as invalid:
        # Whatever was said of arguments that a secret went into: by now it is known which texts these are.
        redactor = Redactor(secrets.revealed())
        raise Invalid([source.hidden(it, redactor.text) for it in invalid.diagnoses]) from None
    # Nodes with the same variables share one rendered playbook, which is gone through once.
    rendered = {id(it.playbook): it.playbook.playbook for it in targets}
    return Prepared(
        playbook=playbook,
        targets=targets,
        redactor=Redactor(secrets.revealed().union(*map(passwords_in, rendered.values()))),
        connect=_connecting(accept_new=accept_new),
        scopes=scopes,
    )


def _nodes(playbook: Playbook, path: Path, selection: Selection) -> tuple[Node, ...]:
    """Return the nodes that the playbook names and the selection leaves; those named by hand are all meant."""
    inventory = _inventory(path, selection)
    by_hand = bool(selection.nodes) or selection.local
    nodes = select(inventory, ("all",)) if by_hand else select_of(playbook, inventory)
    return narrow(inventory, nodes, selection.limit) if selection.limit else nodes


def _inventory(path: Path, selection: Selection) -> Inventory:
    given = [
        flag
        for flag, value in (("-i", selection.inventory), ("-n", selection.nodes), ("--local", selection.local))
        if value
    ]
    if len(given) > 1:
        summary = f"{' and '.join(f'`{flag}`' for flag in given)} cannot be used together"
        remedy = "`-n` and `--local` need no inventory; to narrow one down, use `-l`"
        raise Invalid([Diagnosis(summary=summary, remedy=remedy)])
    if selection.local:
        return inventories.local()
    if selection.nodes:
        return inventories.from_targets(selection.nodes)
    found = selection.inventory or inventories.nearest(path.absolute().parent)
    if found is None:
        summary = "there is no inventory"
        expected = "an inventory.yaml in the playbook's folder or above it"
        remedy = "name one with `-i FILE`, or nodes with `-n USER@HOST`, or this machine with `--local`"
        raise Invalid([Diagnosis(summary=summary, expected=expected, remedy=remedy)])
    return inventories.read(found)


def _targets(
    playbook: Playbook,
    nodes: tuple[Node, ...],
    scope_of: Callable[[Node], Scope],
    scopes: dict[str, Scope],
    files: Files | None,
) -> tuple[Target, ...]:
    """Return each node with its playbook rendered and bound, and note its scope in `scopes`. Raise Invalid."""
    targets: list[Target] = []
    wrong: dict[Diagnosis, list[str]] = {}
    renderings = Renderings(playbook, files)
    for node in nodes:
        try:
            scopes[node.name], bound = renderings.of(scope_of(node))
            targets.append(Target(node, bound))
        except Invalid as invalid:
            for diagnosis in source.annotate(invalid.diagnoses, playbook.sources):
                wrong.setdefault(diagnosis, []).append(node.name)
    if wrong:
        raise Invalid([_said_of(diagnosis, found, len(nodes)) for diagnosis, found in wrong.items()])
    return tuple(targets)


def _said_of(diagnosis: Diagnosis, found: list[str], nodes: int) -> Diagnosis:
    """Return the diagnosis with the nodes that it is about, unless it is about all of them."""
    if len(found) == nodes:
        return diagnosis
    names = ", ".join(found[:MOST_NAMES]) + (" …" if len(found) > MOST_NAMES else "")
    return replace(diagnosis, summary=f"{diagnosis.summary} (on {names})")


def _connecting(*, accept_new: bool) -> Connect:
    def connecting(node: Node) -> NodeSession:
        # Spared by whoever plans on recorded facts.
        from stackplan.connection.connect import ConnectOptions, connect  # noqa: PLC0415

        return connect(node, ConnectOptions(accept_new=accept_new))

    return connecting
