"""A channel whose transport dies under it, as paramiko's do: whatever it raises, the stream is broken by name."""

import threading
from types import SimpleNamespace

import paramiko
import pytest

from stackplan.connection.failure import ConnectionFailure
from stackplan.connection.options import ConnectOptions
from stackplan.connection.ssh import SshStream
from stackplan.connection.ssh_failure import named
from stackplan.connection.stream import StreamBroken
from stackplan.model.node import Node, NodeName


class Dying:
    """A channel that starts its command and then raises."""

    status_event = threading.Event()

    def __init__(self, error: Exception) -> None:
        self.error = error

    def settimeout(self, seconds: float) -> None:
        pass

    def exec_command(self, command: str) -> None:
        pass

    def recv_stderr_ready(self) -> bool:
        return False

    def recv(self, size: int) -> bytes:
        raise self.error

    def send(self, data: bytes) -> int:
        raise self.error


def stream(error: Exception) -> SshStream:
    transport = SimpleNamespace(
        set_keepalive=lambda seconds: None, open_session=lambda **_: Dying(error), is_active=lambda: False
    )
    return SshStream(SimpleNamespace(transport=transport), "true", 1.0)  # type: ignore[arg-type]


DEATHS = pytest.mark.parametrize(
    "error",
    [EOFError(), OSError("Socket is closed"), ConnectionResetError(104, "reset"), paramiko.SSHException("x"),
     AttributeError("'NoneType' object has no attribute 'send'")],
    ids=lambda it: type(it).__name__,
)  # fmt: skip


@DEATHS
def test_writing_to_a_transport_that_dies(error: Exception) -> None:
    with pytest.raises(StreamBroken, match=r"^\S"):
        stream(error).write(b"frame", 1.0)


@DEATHS
def test_reading_from_a_transport_that_dies(error: Exception) -> None:
    with pytest.raises(StreamBroken, match=r"^\S"):
        stream(error).read(1, 1.0)


@pytest.mark.parametrize(
    ("error", "waited_s", "name", "said"),
    [
        (EOFError(), 1.0, "ConnectingCut", "cannot be reached: the connection was closed while connecting"),
        (ConnectionResetError(104, "Connection reset by peer"), 1.0, "ConnectingCut", "was reset while connecting"),
        (paramiko.AuthenticationException("Authentication failed: transport shut down or saw EOF"), 1.0,
         "ConnectingCut", "was closed while connecting"),
        (paramiko.SSHException("No existing session"), 1.0, "ConnectingCut", "was closed while connecting"),
        (paramiko.SSHException("No existing session"), 15.1, "NodeUnreachable", "did not answer within 15 s"),
        (paramiko.SSHException("Error reading SSH protocol banner[Errno 104] Connection reset by peer"), 0.1,
         "ConnectingCut", "was reset while connecting"),
        (paramiko.SSHException("Error reading SSH protocol banner"), 15.0, "NodeUnreachable", "did not answer within"),
        (paramiko.AuthenticationException("Authentication timeout."), 16.0, "NodeUnreachable", "did not answer within"),
        (paramiko.SSHException("Timeout opening channel."), 16.0, "NodeUnreachable", "did not answer within 15 s"),
        (TimeoutError("timed out"), 15.0, "NodeUnreachable", "did not answer within 15 s"),
        (paramiko.SSHException('Indecipherable protocol version "HTTP/1.1 400"'), 0.1,
         "NodeUnreachable", "answers, but does not speak SSH"),
        (paramiko.AuthenticationException("Authentication failed."), 1.0, "AuthenticationRefused", "refused the login"),
        (RuntimeError("what now"), 1.0, "NodeUnreachable", "cannot be reached: what now"),
    ],
)  # fmt: skip
def test_what_an_exception_stands_for(error: Exception, waited_s: float, name: str, said: str) -> None:
    failure = named(error, Node(name=NodeName("n")), "ops@gpu-01:22", ConnectOptions(), waited_s)
    assert isinstance(failure, ConnectionFailure)
    assert type(failure).__name__ == name
    assert said in failure.summary
    assert failure.remedy
