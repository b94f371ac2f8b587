"""What a failure to connect means for this node: the inventory's own words are blamed where they are to blame. Pure."""

from stackplan.connection.failure import (
    ConnectingCut,
    ConnectionFailure,
    ConnectionLost,
    NodeProgramMissing,
    ProgramSilent,
    PythonTooOld,
    PythonUnusable,
    ShellEnded,
)
from stackplan.model.node import Node

_LOOK_AT_SSHD = "look at sshd on the node and at its log; what ends the login's processes there?"


def blamed(error: ConnectionFailure, node: Node) -> ConnectionFailure:
    """Return the failure in words that name what of the inventory has to be looked at, or as it is."""
    if isinstance(error, ConnectionLost):
        where = node.host or node.name
        return ConnectingCut(f"{where} cannot be reached: {error.summary}", _LOOK_AT_SSHD)
    if isinstance(error, ProgramSilent) and node.become:
        return ProgramSilent(
            error.what, "look whether sudo or the login's profile waits for something", printed=error.printed
        )
    if isinstance(error, (PythonUnusable, PythonTooOld, ShellEnded)) and node.python is not None:
        return _of_python(error, node, node.python)
    if isinstance(error, ShellEnded) and node.become:
        return NodeProgramMissing(
            f"instead of starting the node program, sudo or the login's shell ended with exit status {error.status}",
            "try `sudo -n true` there by hand; look at the login's shell and profile, too",
            printed=error.printed,
        )
    return error


def _of_python(error: NodeProgramMissing, node: Node, python: str) -> NodeProgramMissing:
    """Return the failure of a node for which the inventory names the Python."""
    correct = f"correct `python` of node {node.name} in the inventory: it has to be Python 3.8 or newer"
    if isinstance(error, PythonTooOld):
        return PythonTooOld(error.what, correct, printed=error.printed)
    if isinstance(error, ShellEnded):
        return NodeProgramMissing(
            f"{python}, the `python` of node {node.name} in the inventory, ended with exit status {error.status} "
            "instead of starting the node program",
            f"{correct}; if it is, look at the login's shell and profile",
            printed=error.printed,
        )
    if error.what.startswith("no Python 3"):
        return PythonUnusable(f"there is no {python} on the node", correct)
    return PythonUnusable(error.what, correct, printed=error.printed)
