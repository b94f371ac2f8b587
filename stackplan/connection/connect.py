"""From a node of the inventory to a session with the node program on it."""

from stackplan.connection.bundle import bundle
from stackplan.connection.command import command
from stackplan.connection.failure import ConnectionFailure, ConnectionLost, NodeProgramMissing, NodeUnreachable
from stackplan.connection.local import local
from stackplan.connection.openssh import openssh
from stackplan.connection.options import ConnectOptions
from stackplan.connection.session import Session
from stackplan.connection.stream import ByteStream
from stackplan.model.node import Node, Transport
from stackplan.node.boot import PythonUnusable, shell_command

__all__ = ["ConnectOptions", "connect"]


def connect(node: Node, options: ConnectOptions = ConnectOptions()) -> Session:  # noqa: B008 - frozen
    """Return a session with the node. Raise ConnectionFailure, which one says what stood in the way."""
    try:
        start = shell_command(node.python, become=node.become)
    except PythonUnusable as error:
        raise NodeUnreachable(str(error), f"correct `python` of node {node.name}") from error
    stream = _stream(node, start, options)
    try:
        return Session.open(stream, bundle(), options.connect_timeout_s)
    except (NodeProgramMissing, ConnectionLost) as error:
        raise _clearer(error, node, stream) from error


def _stream(node: Node, start: str, options: ConnectOptions) -> ByteStream:
    if node.transport is Transport.SSH:
        # paramiko takes 150 ms to import, for which only a run over ssh should pay.
        from stackplan.connection.ssh import ssh  # noqa: PLC0415

        return ssh(node, start, options)
    if node.transport is Transport.OPENSSH:
        return openssh(node, start, options)
    if node.transport is Transport.COMMAND:
        return command(node, start)
    return local(start)


def _clearer(error: ConnectionFailure, node: Node, stream: ByteStream) -> ConnectionFailure:
    """Return what the failure means with this transport: `ssh` tells on its error stream why there is no node."""
    if node.transport is Transport.OPENSSH and stream.exit_status() == 255:
        from stackplan.connection.ssh_failure import from_words_of_ssh  # noqa: PLC0415 - imports paramiko, see above

        return from_words_of_ssh(stream.stderr_tail(), node.host or node.name) or error
    if node.python is not None and isinstance(error, NodeProgramMissing) and error.summary.startswith("no Python 3"):
        return NodeProgramMissing(
            f"there is no {node.python} on the node", f"correct `python` of node {node.name} in the inventory"
        )
    return error
