"""`plan -o`: what was planned, put together with everything that is needed to apply exactly that."""

import socket
from collections.abc import Mapping
from pathlib import Path

from stackplan import __version__
from stackplan.cli.login import login_name
from stackplan.cli.preparation import Prepared
from stackplan.connection.failure import ConnectionFailure
from stackplan.engine.basis import Basis, Part
from stackplan.engine.clear_secret import in_clear, named_in_clear
from stackplan.engine.conclusion import Conclusion, conclude
from stackplan.engine.identity import identity
from stackplan.engine.planner import NodePlan
from stackplan.engine.saved_plan import (
    Making,
    PlannedNode,
    SavedPlan,
    SavedVariable,
    Selection,
    SourceFile,
    Sources,
    reached,
    saved_variable,
    sha256_text,
)
from stackplan.engine.target import Target
from stackplan.language.snapshot import Noting
from stackplan.model.diagnosis import Invalid
from stackplan.model.outcome import NodeOutcome


def plan_to_save(
    prepared: Prepared,
    plans: Mapping[str, NodePlan | ConnectionFailure],
    files: Noting,
    selection: Selection,
    time: str,
) -> SavedPlan | None:
    """Return the plan of all nodes, or None where one was not reached: a plan is complete or there is none.

    Raise Invalid, with every place, where a secret stands in clear in what the plan has to carry, also one by its name.
    """
    nodes = []
    for target in prepared.targets:
        plan = plans[target.node.name]
        if isinstance(plan, ConnectionFailure):
            return None
        nodes.append(_node(prepared, target, plan))
    saved = _saved(prepared, files, selection, time, tuple(nodes))
    if found := (*in_clear(saved, prepared.redactor.secrets), *named_in_clear(saved)):
        raise Invalid([*found])
    return saved


def plan_to_keep(prepared: Prepared, files: Noting, selection: Selection, time: str) -> SavedPlan | None:
    """Return what is kept of a run, so that it can be taken up again; None where a secret would stand in it in clear.

    Nothing is concluded in it: when a run is taken up, facts decide what is left to do. A name alone does not make a
    secret here: what is kept lies beside the run's journal, for nobody but who runs it.
    """
    nodes = tuple(
        PlannedNode(node=reached(it.node), variables=_variables(prepared, it), plan=_NOTHING_CONCLUDED)
        for it in prepared.targets
    )
    kept = _saved(prepared, files, selection, time, nodes)
    return None if in_clear(kept, prepared.redactor.secrets) else kept


_NOTHING_CONCLUDED = Conclusion(
    outcome=NodeOutcome.PENDING,
    summary=None,
    preconditions=(),
    steps=(),
    basis=Basis(parts=(Part(step=None, conditions=(), states=()),), states={}),
)


def _saved(
    prepared: Prepared, files: Noting, selection: Selection, time: str, nodes: tuple[PlannedNode, ...]
) -> SavedPlan:
    return SavedPlan(
        stackplan=__version__,
        made=Making(time=time, operator=login_name(), host=socket.gethostname()),
        playbook=identity(prepared.playbook),
        sources=_sources(files),
        selection=selection,
        nodes=nodes,
    )


def _variables(prepared: Prepared, target: Target) -> dict[str, SavedVariable]:
    """Return the variables that the playbook of a node was made with. Others may hold what is nobody's business."""
    own = prepared.scopes[target.node.name]
    used = own.resolved
    return {name: saved_variable(it, used[name]) for name, it in own.variables.items() if name in used}


def _node(prepared: Prepared, target: Target, plan: NodePlan) -> PlannedNode:
    return PlannedNode(
        node=reached(target.node),
        variables=_variables(prepared, target),
        plan=conclude(target.playbook, plan, prepared.redactor),
    )


def _sources(files: Noting) -> Sources:
    found = tuple(
        SourceFile(path=it.path, resolved=it.resolved, sha256=sha256_text(it.text), text=it.text)
        for it in files.files.values()
    )
    return Sources(folder=str(Path.cwd()), root=str(files.root or Path.cwd()), files=found)
