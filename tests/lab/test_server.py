"""A node's server whose client goes away at the worst of moments: nothing of that is a traceback."""

import threading
from pathlib import Path

import paramiko
import pytest

from stackplan.lab.server import NodeServer


class Gone:
    """A channel whose client is gone: everything that is done for it raises `error`."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.asked: list[str] = []

    def __getattr__(self, name: str):
        def refuse(*_: object) -> None:
            self.asked.append(name)
            raise self.error

        return refuse


@pytest.fixture
def server(tmp_path: Path):
    key = paramiko.ECDSAKey.generate()
    found = NodeServer(host_key=key, client_key=key, home=tmp_path, environment={"PATH": "/usr/bin:/bin"})
    yield found
    found.close()


@pytest.fixture
def raised(monkeypatch: pytest.MonkeyPatch):
    """What threads raise, in place of a traceback on the standard error."""
    found: list[object] = []
    monkeypatch.setattr(threading, "excepthook", found.append)
    return found


@pytest.mark.parametrize("error", [EOFError(), OSError("closed"), paramiko.SSHException("gone")], ids=repr)
def test_a_client_that_is_gone_when_its_command_ends(
    server: NodeServer, raised: list[object], error: Exception
) -> None:
    channel = Gone(error)
    server.run(channel, "echo out; echo err >&2")  # type: ignore[arg-type]
    server.close()
    assert raised == []
    assert {"recv", "sendall", "sendall_stderr", "send_exit_status", "close"} <= set(channel.asked)


def test_a_command_that_cannot_be_started_ends_its_channel(server: NodeServer, raised: list[object]) -> None:
    server.home = Path("/nowhere")
    channel = Gone(EOFError())
    server.run(channel, "true")  # type: ignore[arg-type]
    server.close()
    assert raised == []
    assert channel.asked == ["send_exit_status", "close"]
