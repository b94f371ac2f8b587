"""A node that a command of the inventory's reaches: `kubectl exec -i pod --`, `docker exec -i name`."""

import shlex

from stackplan.connection.failure import NodeUnreachable
from stackplan.connection.process import ProcessStream
from stackplan.model.node import Node


def command(node: Node, shell_command: str) -> ProcessStream:
    """Start the node's command with `/bin/sh -c …` behind it. Raise NodeUnreachable."""
    if not node.command:
        raise NodeUnreachable(
            f"node {node.name} has `connection: command` without a command",
            "give its argv, for instance `command: [docker, exec, -i, NAME]`",
        )
    return ProcessStream([*node.command, *shlex.split(shell_command)])
