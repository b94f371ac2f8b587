"""What stood in the way of an SSH connection, from the exceptions of paramiko and the words of `ssh`."""

import re
import socket

import paramiko

from stackplan.connection.failure import (
    AuthenticationRefused,
    ConnectingCut,
    ConnectionFailure,
    HostKeyChanged,
    HostKeyUnknown,
    NodeProgramMissing,
    NodeUnreachable,
)
from stackplan.connection.options import ConnectOptions
from stackplan.model.node import Node
from stackplan.model.regular import regular

_MEND_KEYS = "try `ssh` there by hand; name `user` and `identity_file` in the inventory, or load the key into the agent"
_NAME_A_KEY = (
    "name one: `identity_file` in the inventory, `IdentityFile` in ~/.ssh/config, or load it into the agent with "
    "`ssh-add`; keys are looked for in ~/.ssh/id_* too"
)
_LOOK_AT_SSHD = "look at sshd on the node: its log, `MaxStartups`, a firewall in between"
_LOOK_AT_THE_NETWORK = "look at the address, the port, the network, a firewall"
# What paramiko says when the other side has gone away, in whatever it was about to do.
_GONE = regular(
    r"No existing session|saw EOF|Channel closed|session not active|connection dropped|Negotiation failed|"
    r"Error reading SSH protocol banner|Socket is closed"
)


def named(error: Exception, node: Node, where: str, options: ConnectOptions, waited_s: float) -> ConnectionFailure:
    """Return the failure that an exception of paramiko, fabric or the socket stands for, `waited_s` after the start."""
    said = str(error) or type(error).__name__
    if isinstance(error, socket.gaierror):
        return NodeUnreachable(
            f"the name in {where} cannot be resolved: {error.strerror}", "give `host` in the inventory or ~/.ssh/config"
        )
    if isinstance(error, UnicodeError):
        # The codec `idna`, in which host names are looked up, speaks of labels.
        return NodeUnreachable(
            f"{where[:80]} cannot be looked up: a host name has parts of 1 to 63 characters between its dots",
            "correct the name, or give `host` in the inventory or ~/.ssh/config",
        )
    silent = waited_s >= options.connect_timeout_s
    return _of_login(error, node, where, said) or _of_network(
        error, node, where, f"{options.connect_timeout_s:g} s", silent=silent
    )


def _of_login(error: Exception, node: Node, where: str, said: str) -> ConnectionFailure | None:
    """Return the failure where it is one of keys and accounts, else None."""
    if isinstance(error, paramiko.PasswordRequiredException):
        return AuthenticationRefused(
            f"{where}: the private key is protected by a passphrase", "load it into the agent with `ssh-add`"
        )
    if "authentication methods" in said:
        return AuthenticationRefused(f"{where}: no key was offered, because none was found here", _NAME_A_KEY)
    if isinstance(error, paramiko.AuthenticationException) and not _GONE.search(said) and "timeout" not in said:
        keys = f" with {node.identity_file}" if node.identity_file else ""
        return AuthenticationRefused(f"{where} refused the login{keys}: {said}", _MEND_KEYS)
    if isinstance(error, KeyFileUnusable):
        return AuthenticationRefused(
            f"{where} was not asked: the key file {error.path} cannot be read: {error.why}",
            f"correct `identity_file` of node {node.name} in the inventory",
        )
    if "private key file" in said:
        return AuthenticationRefused(
            f"{where}: a key file cannot be read: {said}", "correct `IdentityFile` in ~/.ssh/config, or remove the file"
        )
    return None


def _of_network(error: Exception, node: Node, where: str, limit: str, *, silent: bool) -> ConnectionFailure:
    """Return the failure of the way to the node; `silent`: all the time that there was is over."""
    said = str(error) or type(error).__name__
    if isinstance(error, paramiko.ChannelException):
        via = f" through {node.jump}" if node.jump else ""
        return NodeUnreachable(f"no way to {where}{via}: {said}", "look whether the jump host may forward there")
    if isinstance(error, paramiko.ssh_exception.NoValidConnectionsError):
        reasons = ", ".join(sorted({str(getattr(it, "strerror", None) or it) for it in error.errors.values()}))
        return NodeUnreachable(f"{where} cannot be reached: {reasons}", "look whether sshd runs there on that port")
    gone = isinstance(error, (EOFError, ConnectionError)) or bool(_GONE.search(said))
    # A silent host shows as a session that never came about; it took all the time that there was.
    if isinstance(error, TimeoutError) or "imeout" in said or (gone and silent):
        return NodeUnreachable(f"{where} did not answer within {limit}", _LOOK_AT_THE_NETWORK)
    if gone:
        how = "reset" if "reset" in said else "closed"
        return ConnectingCut(f"{where} cannot be reached: the connection was {how} while connecting", _LOOK_AT_SSHD)
    if "banner" in said or "protocol version" in said:
        return NodeUnreachable(f"{where} answers, but does not speak SSH: {said}", "look at `port`")
    return NodeUnreachable(f"{where} cannot be reached: {said}", "try `ssh -v` there by hand")


class KeyFileUnusable(Exception):
    """The key file that the inventory names cannot be used; says why."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.path = path
        self.why = why


def exec_refused(said: str) -> NodeProgramMissing:
    """Return the failure of a server that lets one log in but run nothing."""
    return NodeProgramMissing(
        f"the server runs no command for this login: {said}",
        "look at `command=`, `ForceCommand` and the account's shell; the login must be allowed to run /bin/sh",
    )


_WORDS_OF_SSH: tuple[tuple[str, type[ConnectionFailure], str | None], ...] = (
    (r"Permission denied \(|Too many authentication failures", AuthenticationRefused, _MEND_KEYS),
    (r"invalid format|error in libcrypto|bad permissions", AuthenticationRefused, "correct `identity_file`"),
    (r"Could not resolve hostname", NodeUnreachable, "give `host` in the inventory or ~/.ssh/config"),
    (r"Connection refused", NodeUnreachable, "look whether sshd runs there on that port"),
    (r"No route to host|Network is unreachable", NodeUnreachable, _LOOK_AT_THE_NETWORK),
    (
        r"Connection (closed|reset)|Connection to .* closed|Broken pipe|kex_exchange_id|ssh_dispatch_run_fatal",
        ConnectingCut,
        _LOOK_AT_SSHD,
    ),
)


def from_words_of_ssh(stderr: str, where: str, limit_s: float) -> ConnectionFailure | None:
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
        return HostKeyUnknown(f"no file of known hosts has a key of {where}: {said}")
    if "timed out" in stderr:
        return NodeUnreachable(f"{where} did not answer within {limit_s:g} s", _LOOK_AT_THE_NETWORK)
    for pattern, failure, remedy in _WORDS_OF_SSH:
        if re.search(pattern, stderr):
            return failure(f"{where} cannot be reached: {said}", remedy)
    return None
