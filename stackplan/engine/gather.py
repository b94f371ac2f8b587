"""`facts`: everything that a playbook can want to know of its nodes, recorded for planning without them."""

from collections.abc import Sequence
from pathlib import Path

from stackplan import __version__
from stackplan.connection.failure import ConnectionFailure
from stackplan.engine.consult import Survey
from stackplan.engine.facts_file import Recording, write
from stackplan.engine.plan import node_plans
from stackplan.engine.planner import NodePlan
from stackplan.engine.target import Connect, Target
from stackplan.model.facts import Facts


def gather(targets: Sequence[Target], connect: Connect, survey: Survey) -> dict[str, Facts | ConnectionFailure]:
    """Return, by node, the answers to all that its playbook asks, or why there are none.

    They are those that a plan comes about with, dry runs included, so that it can be made again without the node.
    """
    return {
        node: found.basis if isinstance(found, NodePlan) else found
        for node, found in node_plans(targets, connect, survey).items()
    }


def record(
    targets: Sequence[Target], connect: Connect, survey: Survey, folder: Path
) -> dict[str, Path | ConnectionFailure]:
    """Gather, and write one file a node into `folder`; return, by node, the file or why there is none.

    Raise Invalid when the folder cannot be written.
    """
    recording = Recording(stackplan=__version__, playbook=targets[0].playbook.playbook.sha256)
    return {
        node: write(folder, found, survey.redactor, recording) if isinstance(found, Facts) else found
        for node, found in gather(targets, connect, survey).items()
    }
