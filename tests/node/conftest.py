"""A node program on this machine, with a spool of its own for each test."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stackplan.connection.connect import connect
from stackplan.connection.session import Session
from stackplan.model.node import Node, NodeName, Transport


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the node program keeps spool and lock."""
    folder = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    return folder


@pytest.fixture
def open_session(state: Path) -> Iterator[Callable[..., Session]]:
    """Opens sessions with node programs on this machine, and closes them when the test ends."""
    sessions: list[Session] = []

    def opened(**node: object) -> Session:
        sessions.append(connect(Node(name=NodeName("here"), transport=Transport.LOCAL, **node)))  # type: ignore[arg-type]
        return sessions[-1]

    yield opened
    for session in sessions:
        session.close()


@pytest.fixture
def session(open_session: Callable[..., Session]) -> Session:
    return open_session()


@pytest.fixture
def names() -> Iterator[str]:
    """Names of jobs."""
    return (f"20261201T031022Z-4f2a.step.{number}" for number in itertools.count(1))
