"""From a node of the inventory to a session with the node program on it."""

import contextlib
import time

from stackplan.connection.blame import blamed
from stackplan.connection.bundle import bundle
from stackplan.connection.command import command
from stackplan.connection.failure import (
    ConnectingCut,
    ConnectionFailure,
    ConnectionLost,
    HostKeyUnknown,
    NodeProgramMissing,
    NodeUnreachable,
    PackageMissing,
)
from stackplan.connection.local import local
from stackplan.connection.missing_package import missing_package
from stackplan.connection.openssh import key_unknown, openssh, shown_key
from stackplan.connection.options import ConnectOptions
from stackplan.connection.session import Session
from stackplan.connection.stream import ByteStream
from stackplan.model.node import Node, Transport
from stackplan.node.boot import PythonUnusable, shell_command

__all__ = ["ConnectOptions", "connect"]
# Between tries of a connection that was cut while it came about.
PAUSES_S = (0.3, 1.0)


def connect(node: Node, options: ConnectOptions = ConnectOptions()) -> Session:  # noqa: B008 - frozen
    """Return a session with the node. Raise ConnectionFailure, which one says what stood in the way.

    A connection that is cut while it comes about (a full sshd, a restarting switch) is tried again, quickly and twice.
    """
    try:
        start = shell_command(node.python, become=node.become)
    except PythonUnusable as error:
        raise NodeUnreachable(str(error), f"correct `python` of node {node.name}") from error
    for pause_s in PAUSES_S:
        with contextlib.suppress(ConnectingCut):
            return _connect_once(node, start, options)
        time.sleep(pause_s)
    return _connect_once(node, start, options)


def _connect_once(node: Node, start: str, options: ConnectOptions) -> Session:
    stream = _stream(node, start, options)
    try:
        return Session.open(stream, bundle(), _patience_s(node, options), become=node.become)
    except (NodeProgramMissing, ConnectionLost) as error:
        raise _clearer(error, node, stream, options) from error


def _patience_s(node: Node, options: ConnectOptions) -> float:
    """Return how long the node program may take to answer; `ssh` connects within that time, too, and has its own."""
    return options.connect_timeout_s * (2 if node.transport is Transport.OPENSSH else 1)


def _stream(node: Node, start: str, options: ConnectOptions) -> ByteStream:
    if node.transport is Transport.SSH:
        # paramiko takes 150 ms to import, for which only a run over ssh should pay.
        try:
            from stackplan.connection.ssh import ssh  # noqa: PLC0415
        except ImportError as error:
            if (found := missing_package(error)) is None:
                raise
            raise PackageMissing(*found) from error
        return ssh(node, start, options)
    if node.transport is Transport.OPENSSH:
        return openssh(node, start, options)
    if node.transport is Transport.COMMAND:
        return command(node, start)
    return local(start)


def _clearer(error: ConnectionFailure, node: Node, stream: ByteStream, options: ConnectOptions) -> ConnectionFailure:
    """Return what the failure means with this transport: `ssh` tells on its error stream why there is no node."""
    if node.transport is Transport.OPENSSH and stream.exit_status() == 255:
        from stackplan.connection.ssh_failure import from_words_of_ssh  # noqa: PLC0415 - imports paramiko, see above

        where = node.host or node.name
        found = from_words_of_ssh(stream.stderr_tail(), where, options.connect_timeout_s)
        if isinstance(found, HostKeyUnknown):
            return key_unknown(where, shown_key(node, options))
        if found is not None:
            return found
    return blamed(error, node)
