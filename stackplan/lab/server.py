"""One simulated node's SSH server: paramiko's server side on a loopback port, commands run in the node's sandbox."""

import contextlib
import logging
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import IO

import paramiko
from paramiko import common

from stackplan.model.frozen import dataclass

_CHUNK = 1 << 16
# What paramiko raises when a client has gone away, from whatever was about to be done for it.
_GONE = (OSError, EOFError, paramiko.SSHException)
_NOT_STARTED = 126
_LOGGER = logging.getLogger("stackplan.lab.ssh")
_LOGGER.addHandler(logging.NullHandler())
_LOGGER.propagate = False


@dataclass
class Counters:
    """What clients did to a node since it started: connections accepted, logins, commands run."""

    connections: int = 0
    logins: int = 0
    commands: list[str] = field(default_factory=list)


class NodeServer:
    """Accepts SSH on a free loopback port until `close()`. One user key may log in, under any user name.

    A command runs as `/bin/sh -c COMMAND` in a session of its own, with `environment` and in `home`. Its standard
    streams are the channel's; when the client goes away it sees the end of its input, as under sshd, and is not killed.
    """

    def __init__(
        self, *, host_key: paramiko.PKey, client_key: paramiko.PKey, home: Path, environment: Mapping[str, str]
    ) -> None:
        self.counters = Counters()
        self.home = home
        self.environment = dict(environment)
        self.client_key = client_key
        self._host_key = host_key
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._transports: set[paramiko.Transport] = set()
        self._commands: set[subprocess.Popen[bytes]] = set()
        self._threads: set[threading.Thread] = set()
        self._lock = threading.Lock()
        self._closing = False
        self._acceptor = threading.Thread(target=self._accept, name="lab ssh", daemon=True)
        self._acceptor.start()

    @property
    def port(self) -> int:
        port: int = self._listener.getsockname()[1]
        return port

    @property
    def host_key_line(self) -> str:
        """The node's key as known_hosts writes it."""
        return f"{self._host_key.get_name()} {self._host_key.get_base64()}"

    def close(self) -> None:
        """End all connections and the commands that run over them."""
        self._closing = True
        # A blocked accept() does not notice a close; a shutdown wakes it.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._acceptor.join()
        self._listener.close()
        self.drop_connections()
        with self._lock:
            commands, threads = list(self._commands), list(self._threads)
        for command in commands:
            _end(command)
        for thread in threads:
            # A daemon that a command left behind may still hold the command's output open; it is not waited for.
            thread.join(5)

    def drop_connections(self) -> None:
        """Cut every open connection, as a network does; the node goes on."""
        with self._lock:
            transports = list(self._transports)
            self._transports.clear()
        for transport in transports:
            with contextlib.suppress(*_GONE):
                transport.close()
        for transport in transports:
            transport.join(10)

    def run(self, channel: paramiko.Channel, command: str) -> None:
        """Start `command` for a channel, in threads of its own."""
        self.counters.commands.append(command)
        self._start_thread(partial(self._serve, channel, command))

    def _start_thread(self, work: Callable[[], None]) -> threading.Thread:
        def work_and_leave() -> None:
            try:
                with contextlib.suppress(*_GONE):
                    work()
            finally:
                with self._lock:
                    self._threads.discard(threading.current_thread())

        thread = threading.Thread(target=work_and_leave, name="lab ssh", daemon=True)
        with self._lock:
            # Together, so that `close` waits for no thread that was not started yet.
            self._threads.add(thread)
            thread.start()
        return thread

    def _accept(self) -> None:
        while not self._closing:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.counters.connections += 1
            self._start_thread(partial(self._greet, connection))

    def _greet(self, connection: socket.socket) -> None:
        transport = paramiko.Transport(connection)
        transport.set_log_channel(_LOGGER.name)
        transport.add_server_key(self._host_key)
        try:
            transport.start_server(server=_Login(self), event=threading.Event())
            with self._lock:
                self._transports.add(transport)
            if self._closing:
                transport.close()
            transport.join()
        except _GONE:
            with contextlib.suppress(*_GONE):
                transport.close()
        finally:
            with self._lock:
                self._transports.discard(transport)
            connection.close()

    def _serve(self, channel: paramiko.Channel, command: str) -> None:
        try:
            process = subprocess.Popen(
                ["/bin/sh", "-c", command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=self.home,
                env=self.environment,
                start_new_session=True,
                bufsize=0,
            )
        except OSError:
            _hang_up(channel, _NOT_STARTED)
            return
        assert process.stdin
        assert process.stdout
        assert process.stderr
        with self._lock:
            self._commands.add(process)
        pumps = [
            self._start_thread(partial(_pump_output, process.stdout, channel.sendall)),
            self._start_thread(partial(_pump_output, process.stderr, channel.sendall_stderr)),
        ]
        self._start_thread(partial(_pump_input, channel, process.stdin))
        status = process.wait()
        with self._lock:
            self._commands.discard(process)
        for pump in pumps:
            pump.join()
        _hang_up(channel, status if status >= 0 else 255)


class _Login(paramiko.ServerInterface):
    """What a client may ask for: its key accepted, sessions opened, commands and shells run; nothing else."""

    def __init__(self, server: NodeServer) -> None:
        self._server = server

    def get_allowed_auths(self, username: str) -> str:  # noqa: ARG002 - paramiko's interface
        return "publickey"

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:  # noqa: ARG002 - paramiko's interface
        if key != self._server.client_key:
            return common.AUTH_FAILED
        self._server.counters.logins += 1
        return common.AUTH_SUCCESSFUL

    def check_channel_request(self, kind: str, chanid: int) -> int:  # noqa: ARG002 - paramiko's interface
        return common.OPEN_SUCCEEDED if kind == "session" else common.OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED

    def check_channel_shell_request(self, channel: paramiko.Channel) -> bool:
        """Start a shell without a terminal, which the lab's nodes do not have."""
        self._server.run(channel, "exec /bin/sh -i")
        return True

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        self._server.run(channel, command.decode("utf-8", "surrogateescape"))
        return True


def _hang_up(channel: paramiko.Channel, status: int) -> None:
    """Tell the client how its command ended, if it is still there, and close the channel."""
    with contextlib.suppress(*_GONE):
        channel.send_exit_status(status)
        channel.shutdown_write()
    with contextlib.suppress(*_GONE):
        channel.close()


def _pump_output(source: IO[bytes], send: Callable[[bytes], object]) -> None:
    """Pass on what a command prints; when the client is gone, close the pipe so that the command notices."""
    with source as stream:
        while chunk := os.read(stream.fileno(), _CHUNK):
            try:
                send(chunk)
            except _GONE:
                return


def _pump_input(channel: paramiko.Channel, target: IO[bytes]) -> None:
    with contextlib.suppress(*_GONE), target as stream:
        while chunk := channel.recv(_CHUNK):
            view = memoryview(chunk)
            while view:
                view = view[os.write(stream.fileno(), view) :]


def _end(command: subprocess.Popen[bytes]) -> None:
    """End a command that outlived its connection: its input is closed already, so ask first and then insist."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(command.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            command.wait(3)
            return
