"""`plan -o`: what was planned, put together with everything that is needed to apply exactly that."""

import socket
from collections.abc import Mapping
from pathlib import Path

from stackplan import __version__
from stackplan.cli.login import login_name
from stackplan.cli.preparation import Prepared
from stackplan.connection.failure import ConnectionFailure
from stackplan.engine.apply import identity
from stackplan.engine.clear_secret import in_clear
from stackplan.engine.conclusion import conclude
from stackplan.engine.planner import NodePlan
from stackplan.engine.rollout import Target
from stackplan.engine.saved_plan import (
    Making,
    PlannedNode,
    SavedPlan,
    Selection,
    SourceFile,
    Sources,
    reached,
    saved_variable,
    sha256_text,
)
from stackplan.language.snapshot import Noting
from stackplan.model.diagnosis import Invalid


def plan_to_save(
    prepared: Prepared,
    plans: Mapping[str, NodePlan | ConnectionFailure],
    files: Noting,
    selection: Selection,
    time: str,
) -> SavedPlan | None:
    """Return the plan of all nodes, or None where one was not reached: a plan is complete or there is none.

    Raise Invalid, with every place, where a secret stands in clear in what the plan has to carry.
    """
    nodes = []
    for target in prepared.targets:
        plan = plans[target.node.name]
        if isinstance(plan, ConnectionFailure):
            return None
        nodes.append(_node(prepared, target, plan))
    saved = SavedPlan(
        stackplan=__version__,
        made=Making(time=time, operator=login_name(), host=socket.gethostname()),
        playbook=identity(prepared.playbook),
        sources=_sources(files),
        selection=selection,
        nodes=tuple(nodes),
    )
    if found := in_clear(saved, prepared.redactor.secrets):
        raise Invalid([*found])
    return saved


def _node(prepared: Prepared, target: Target, plan: NodePlan) -> PlannedNode:
    own = prepared.scopes[target.node.name]
    return PlannedNode(
        node=reached(target.node),
        variables={name: saved_variable(it, own.resolved.get(name)) for name, it in own.variables.items()},
        plan=conclude(target.playbook, plan, prepared.redactor),
    )


def _sources(files: Noting) -> Sources:
    found = tuple(
        SourceFile(path=it.path, resolved=it.resolved, sha256=sha256_text(it.text), text=it.text)
        for it in files.files.values()
    )
    return Sources(folder=str(Path.cwd()), root=str(files.root or Path.cwd()), files=found)
