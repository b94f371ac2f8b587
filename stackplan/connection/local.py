"""This machine as a node: the node program as a child process."""

import shlex

from stackplan.connection.process import ProcessStream


def local(shell_command: str) -> ProcessStream:
    """Start the node program here. Raise NodeUnreachable."""
    # The command line is made for a login shell; here its words are taken apart instead.
    return ProcessStream(shlex.split(shell_command))
