"""A node over SSH. fabric opens the connection (~/.ssh/config, jump hosts, keys, agent); the channel is then ours."""

import contextlib
import functools
import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fabric
import paramiko

from stackplan.connection import known_hosts
from stackplan.connection.failure import ConnectionFailure
from stackplan.connection.hostkeys import HostKeys, files_for
from stackplan.connection.options import ConnectOptions
from stackplan.connection.ssh_failure import KeyFileUnusable, exec_refused, named
from stackplan.connection.stream import StreamBroken, Tail
from stackplan.model.node import Node

KEEPALIVE_S = 15
WINDOW = 4 * 1024 * 1024
_SLICE_S = 1.0
_PARTING_S = 2.0
# paramiko's threads log what they also raise; without a handler Python would print it over the screen.
logging.getLogger("paramiko").addHandler(logging.NullHandler())


class SshStream:
    """Speaks to a command over one channel of a connection that is its own."""

    def __init__(self, connection: fabric.Connection, shell_command: str, timeout_s: float) -> None:
        """Start the command. Raise ConnectionFailure; the connection is then the caller's to close."""
        self._connection = connection
        self._tail = Tail()
        transport: paramiko.Transport = connection.transport
        transport.set_keepalive(KEEPALIVE_S)
        self._channel = transport.open_session(window_size=WINDOW, timeout=timeout_s)
        self._channel.settimeout(timeout_s)
        try:
            self._channel.exec_command(shell_command)
        except (paramiko.SSHException, TimeoutError) as error:
            if not transport.is_active():
                raise
            self._channel.close()
            raise exec_refused(str(error)) from error
        self.execs = 1

    def read(self, size: int, timeout_s: float) -> bytes:
        deadline = time.monotonic() + timeout_s
        while True:
            # In slices, so that a flood on the error stream is taken in and cannot fill the channel's window.
            self._channel.settimeout(max(0.001, min(_SLICE_S, deadline - time.monotonic())))
            try:
                self._take_stderr()
                return self._channel.recv(size)
            except TimeoutError:
                if time.monotonic() >= deadline:
                    raise
            except Exception as error:
                # A transport that dies raises anything: EOFError, OSError, paramiko's own.
                raise StreamBroken(str(error) or "the connection is closed") from error

    def write(self, data: bytes, timeout_s: float) -> None:
        view = memoryview(data)
        while view:
            try:
                self._channel.settimeout(timeout_s)
                view = view[self._channel.send(bytes(view[:WINDOW])) :]
            except TimeoutError:
                raise
            except Exception as error:
                raise StreamBroken(str(error) or "the connection is closed") from error

    def _take_stderr(self) -> None:
        while self._channel.recv_stderr_ready():
            data = self._channel.recv_stderr(1 << 16)
            if not data:
                return
            self._tail.add(data)

    def stderr_tail(self) -> str:
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
            self._take_stderr()
        return self._tail.text()

    def exit_status(self) -> int | None:
        # paramiko says -1 for "none came": a cut connection, or a command that a signal ended.
        if self._channel.status_event.wait(_PARTING_S) and self._channel.exit_status >= 0:
            return self._channel.exit_status
        return None

    def close(self) -> None:
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
            self._channel.close()
        close(self._connection)


def ssh(node: Node, shell_command: str, options: ConnectOptions) -> SshStream:
    """Connect and start the command. Raise ConnectionFailure."""
    where = _address(node)
    began = time.monotonic()
    connection = None
    try:
        connection = _connection(node, options)
        where = f"{connection.user}@{connection.host}:{connection.port}"
        connection.open()
        return SshStream(connection, shell_command, options.connect_timeout_s)
    except ConnectionFailure:
        _close_failed(connection)
        raise
    except Exception as error:
        # paramiko and fabric raise anything from OSError to bare Exception for a bad key file or a bad server.
        _close_failed(connection)
        raise named(error, node, where, options, time.monotonic() - began) from error


def _connection(node: Node, options: ConnectOptions) -> fabric.Connection:
    """Return the connection, not opened yet, its jump hosts and their checking of keys included."""
    config = fabric.Config(ssh_config=_ssh_config(), lazy=True)
    arguments: dict[str, Any] = {
        "banner_timeout": options.connect_timeout_s,
        "auth_timeout": options.connect_timeout_s,
        "channel_timeout": options.connect_timeout_s,
        "timeout": options.connect_timeout_s,
    }
    gateway = None
    for hop in filter(None, (part.strip() for part in (node.jump or "").split(","))):
        gateway = fabric.Connection(hop, config=config, gateway=gateway, connect_kwargs=dict(arguments))
    if node.identity_file is not None:
        path = Path(node.identity_file).expanduser()
        _check_key_file(path)
        arguments.update(key_filename=str(path), look_for_keys=False)
    connection = fabric.Connection(
        node.host or node.name,
        user=node.user,
        port=node.port,
        config=config,
        gateway=gateway,
        forward_agent=False,
        connect_kwargs=arguments,
    )
    own = node.known_hosts or options.known_hosts
    for hop in _chain(connection):
        # fabric takes a time limit from ~/.ssh/config as well as from us and refuses both at once.
        hop.connect_timeout = None
        hop.connect_kwargs["timeout"] = options.connect_timeout_s
        _check_keys(hop, own, options)
    return connection


def _check_key_file(path: Path) -> None:
    """Raise KeyFileUnusable for a file that holds no private key.

    One that has a passphrase, or is a certificate, is left to whoever logs in with it.
    """
    if path.name.endswith("-cert.pub"):
        return
    try:
        paramiko.PKey.from_path(path)
    except paramiko.PasswordRequiredException:
        return
    except OSError as error:
        why = "there is no such file" if isinstance(error, FileNotFoundError) else error.strerror or str(error)
        raise KeyFileUnusable(str(path), why) from error
    except Exception as error:
        # paramiko raises anything for what is no key: SSHException, ValueError, struct.error, TypeError.
        if "assword" in str(error) or "encrypted" in str(error):
            return
        raise KeyFileUnusable(str(path), "it is no private key that can be read") from error


def _chain(connection: Any) -> Iterator[fabric.Connection]:
    """Yield the connection and the jump hosts behind it; a ProxyCommand ends the chain."""
    while isinstance(connection, fabric.Connection):
        yield connection
        connection = connection.gateway


def _check_keys(connection: fabric.Connection, own: str | None, options: ConnectOptions) -> None:
    """Have the connection check its host's key by our records, and ask the host for the types of key on record."""
    configured = connection.ssh_config
    name = configured.get("hostkeyalias") or known_hosts.host_name(connection.host, int(connection.port))
    files = files_for(own, configured.get("userknownhostsfile", "").split())
    keys = HostKeys(files=files, accept_new=options.accept_new)
    connection.client.set_missing_host_key_policy(_Policy(keys, name))
    types = [record.key_type for record in keys.records(name) if not record.revoked]
    connection.connect_kwargs["transport_factory"] = functools.partial(_transport, types)


class _Policy(paramiko.MissingHostKeyPolicy):
    """Asked about every key: paramiko is given no known hosts, because its reader knows no line numbers or @revoked."""

    def __init__(self, keys: HostKeys, name: str) -> None:
        self._keys = keys
        self._name = name

    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:  # noqa: ARG002 - paramiko's interface
        self._keys.check(self._name, key.get_name(), key.asbytes())


def _transport(types: list[str], *arguments: Any, **named_arguments: Any) -> paramiko.Transport:
    """Return a transport that asks for the given types of host key first."""
    transport = paramiko.Transport(*arguments, **named_arguments)
    options = transport.get_security_options()
    wanted = [name for it in types for name in (("rsa-sha2-512", "rsa-sha2-256") if it == "ssh-rsa" else (it,))]
    offered = list(options.key_types)
    options.key_types = list(dict.fromkeys([name for name in wanted if name in offered] + offered))
    return transport


def _ssh_config() -> paramiko.SSHConfig:
    """Return ~/.ssh/config and /etc/ssh/ssh_config as one, parsed once for each state of the two files."""
    paths = (os.path.expanduser("~/.ssh/config"), "/etc/ssh/ssh_config")  # noqa: PTH111 - the key of a cache
    return _parsed(tuple((path, _state(path)) for path in paths))


def _state(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)  # noqa: PTH116 - beside expanduser above
    except OSError:
        return 0, -1
    return status.st_mtime_ns, status.st_size


@functools.lru_cache(maxsize=4)
def _parsed(files: tuple[tuple[str, tuple[int, int]], ...]) -> paramiko.SSHConfig:
    config = paramiko.SSHConfig()
    for path, (_, size) in files:
        if size >= 0:
            with Path(path).open(encoding="utf-8", errors="replace") as file:
                config.parse(file)
    return config


def close(connection: fabric.Connection) -> None:
    """Close a connection and its jump hosts, whatever state they are in."""
    for hop in _chain(connection):
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
            if (transport := hop.client.get_transport()) is not None:
                # A handshake that breaks off leaves paramiko's timer running for as long as it might have taken.
                transport.packetizer.complete_handshake()
            hop.client.close()


def _close_failed(connection: fabric.Connection | None) -> None:
    if connection is not None:
        close(connection)


def _address(node: Node) -> str:
    user = f"{node.user}@" if node.user else ""
    return f"{user}{node.host or node.name}" + (f":{node.port}" if node.port else "")
