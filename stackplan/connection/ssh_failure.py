"""What stood in the way of an SSH connection, from the exceptions of paramiko and the words of `ssh`."""

import re
import socket

import paramiko

from stackplan.connection.failure import (
    AuthenticationRefused,
    ConnectionFailure,
    HostKeyChanged,
    HostKeyUnknown,
    NodeProgramMissing,
    NodeUnreachable,
)
from stackplan.connection.options import ConnectOptions
from stackplan.model.node import Node

_MEND_KEYS = "try `ssh` there by hand; name `user` and `identity_file` in the inventory, or load the key into the agent"


def named(  # noqa: PLR0911 - a table of exceptions, read from top to bottom
    error: Exception, node: Node, where: str, options: ConnectOptions
) -> ConnectionFailure:
    """Return the failure that an exception of paramiko, fabric or the socket stands for."""
    limit = f"{options.connect_timeout_s:g} s"
    said = str(error) or type(error).__name__
    if isinstance(error, paramiko.PasswordRequiredException):
        return AuthenticationRefused(
            f"{where}: the private key is protected by a passphrase", "load it into the agent with `ssh-add`"
        )
    if isinstance(error, paramiko.AuthenticationException) or "authentication methods" in said:
        keys = f" with {node.identity_file}" if node.identity_file else ""
        return AuthenticationRefused(f"{where} refused the login{keys}: {said}", _MEND_KEYS)
    if isinstance(error, socket.gaierror):
        return NodeUnreachable(
            f"the name in {where} cannot be resolved: {error.strerror}", "give `host` in the inventory or ~/.ssh/config"
        )
    if isinstance(error, paramiko.ChannelException):
        via = f" through {node.jump}" if node.jump else ""
        return NodeUnreachable(f"no way to {where}{via}: {said}", "look whether the jump host may forward there")
    if isinstance(error, paramiko.ssh_exception.NoValidConnectionsError):
        reasons = ", ".join(sorted({str(getattr(it, "strerror", None) or it) for it in error.errors.values()}))
        return NodeUnreachable(f"{where} cannot be reached: {reasons}", "look whether sshd runs there on that port")
    if isinstance(error, TimeoutError):
        return NodeUnreachable(f"{where} did not answer within {limit}", "look at the address, the network, a firewall")
    if "banner" in said:
        return NodeUnreachable(
            f"{where} accepts connections but did not speak SSH within {limit}: {said}", "look at `port`"
        )
    if isinstance(error, FileNotFoundError) and error.filename:
        return AuthenticationRefused(f"{where}: {error.strerror}: {error.filename}", "correct `identity_file`")
    return NodeUnreachable(f"{where} cannot be reached: {said}")


def exec_refused(said: str) -> NodeProgramMissing:
    """Return the failure of a server that lets one log in but run nothing."""
    return NodeProgramMissing(
        f"the server runs no command for this login: {said}",
        "look at `command=`, `ForceCommand` and the account's shell; the login must be allowed to run /bin/sh",
    )


_WORDS_OF_SSH: tuple[tuple[str, type[ConnectionFailure], str | None], ...] = (
    (r"Permission denied \(|Too many authentication failures", AuthenticationRefused, _MEND_KEYS),
    (r"Could not resolve hostname", NodeUnreachable, "give `host` in the inventory or ~/.ssh/config"),
    (r"Connection refused", NodeUnreachable, "look whether sshd runs there on that port"),
    (r"timed out|No route to host|Network is unreachable", NodeUnreachable, "look at the address and the network"),
    (r"Connection (closed|reset)|kex_exchange_identification|Connection to .* closed", NodeUnreachable, None),
)


def from_words_of_ssh(stderr: str, where: str) -> ConnectionFailure | None:
    """Return what the `ssh` binary complains of, None when it does not.

    OpenSSH 9.2: `ops@gpu-01: Permission denied (publickey).`, `ssh: connect to host gpu-01 port 22: Connection refused`
    """
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    said = "; ".join(lines[-3:])
    if "REMOTE HOST IDENTIFICATION HAS CHANGED" in stderr or "REVOKED HOST KEY" in stderr:
        found = re.search(r"SHA256:\S+", stderr)
        offending = re.search(r"Offending .* key in (\S+)", stderr)
        shown = found[0].rstrip(".") if found else "another key"
        place = offending[1] if offending else "the file of known hosts"
        return HostKeyChanged(
            f"{where} shows the key {shown}, but {place} has another on record",
            "if the host was installed anew, remove that line and compare the fingerprint on the host's console",
        )
    if "Host key verification failed" in stderr:
        return HostKeyUnknown(
            f"no file of known hosts has a key of {where}: {said}", "compare the fingerprint, then use `--accept-new`"
        )
    for pattern, failure, remedy in _WORDS_OF_SSH:
        if re.search(pattern, stderr):
            return failure(f"{where} cannot be reached: {said}", remedy)
    return None
