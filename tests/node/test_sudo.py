"""Another user through sudo, for a program that is not root; a stand-in for sudo becomes nobody, but is asked alike."""

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stackplan.connection.connect import connect
from stackplan.connection.session import Session, Started
from stackplan.model.facts import Failed, Known, Query
from stackplan.model.job import Command, Exited, Job, NotStarted, Task, Work
from stackplan.model.node import Node, NodeName, Transport
from stackplan.model.secret import Secret
from stackplan.node.asker import Batch
from stackplan.node.processes import living_members
from stackplan.node.supervisor import CannotStart, start
from tests.node.waiting import wait_until

SECRET = "s3cr3t-of-the-hub-9173"
OBEYS = """#!/bin/sh
printf "%s " "$@" >> {folder}/asked
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
"""
REFUSES = """#!/bin/sh
echo >&2 "sudo: a password is required"
exit 1
"""


@pytest.fixture
def login() -> Iterator[Callable[[str], Session]]:
    """Opens a session as somebody who is not root, with a given script for sudo."""
    # Not below pytest's own folder, into which nobody but its owner may look.
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    sessions: list[Session] = []

    def opened(sudo: str) -> Session:
        for name in ("bin", "home"):
            (folder / name).mkdir()
        (folder / "home").chmod(0o777)
        (folder / "bin/sudo").write_text(sudo.format(folder=folder / "home"))
        (folder / "bin/sudo").chmod(0o755)
        change = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
        environment = [
            f"PATH={folder}/bin:{os.environ['PATH']}",
            f"HOME={folder}/home",
            f"XDG_STATE_HOME={folder}/home",
        ]
        argv = (*change, "env", *environment)
        sessions.append(connect(Node(name=NodeName("n"), transport=Transport.COMMAND, command=argv)))
        return sessions[-1]

    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("no setpriv to drop root with")
    yield opened
    for session in sessions:
        session.close()
    shutil.rmtree(folder)


def test_a_job_and_a_question_of_another_user_go_through_sudo(login: Callable[[str], Session]) -> None:
    session = login(OBEYS)
    stage = Command(
        argv=("/bin/sh", "-c", "cat; printf %s $TOKEN; exit 4"),
        display="",
        stdin=Secret("given "),
        environment={"TOKEN": Secret(SECRET)},
    )
    started = session.start(Work(name="job", job=Job((stage,)), user="root", environment={"JOB": Secret(SECRET)}))
    assert isinstance(started, Started)
    output: list[bytes] = []
    assert session.watch("job", output.append) == Exited(4)
    assert b"".join(output) == b"given " + SECRET.encode()
    query = Query("os", {}, user="root")
    assert isinstance(session.ask([query])[query], Known)
    asked = (Path(started.spool).parents[3] / "asked").read_text()
    assert asked.count("-n -H -u root -- ") == 3
    assert SECRET not in asked


def test_a_task_of_another_user_goes_through_sudo(login: Callable[[str], Session]) -> None:
    session = login(OBEYS)
    session.start(Work(name="job", job=Job((Task(kind="no_such_task", arguments={}, display=""),)), user="root"))
    output: list[bytes] = []
    assert session.watch("job", output.append) == Exited(1)
    assert b"".join(output).startswith(b"stackplan: ModuleNotFoundError")


def test_the_words_of_a_sudo_that_refuses_are_passed_on(login: Callable[[str], Session]) -> None:
    session = login(REFUSES)
    refused = session.start(Work(name="job", job=Job((Command(argv=("true",), display=""),)), user="root"))
    assert refused == NotStarted("sudo refused to become `root`: sudo: a password is required")
    query = Query("os", {}, user="root")
    assert session.ask([query]) == {query: Failed("sudo: a password is required")}


# A sudo that hangs is left to be reaped by whoever ends: in a node program that is init.
@pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")
def test_a_sudo_that_hangs_is_waited_for_once_and_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stackplan.node.asker.SUDO_PATIENCE_S", 0.3)
    monkeypatch.setattr("stackplan.node.asker.bundled", dict)
    monkeypatch.setattr("os.geteuid", lambda: 65534)
    sudo = tmp_path / "sudo"
    sudo.write_text(f"#!/bin/sh\necho $$ >> {tmp_path}/asked\nsleep 600\n")
    sudo.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    silent: set[str] = set()
    queries = [{"kind": "os", "arguments": {}, "user": "root"} for _ in range(3)]
    first = Batch(1, queries, 60.0, silent)
    while not first.done:
        first.look_at_the_clock(time.monotonic())
    why = "sudo did not answer within 0.3 s when asked to become `root`"
    assert first.answers == [{"failed": why, "stderr": ""}] * 3
    (pid,) = (int(line) for line in (tmp_path / "asked").read_text().split())
    os.waitpid(pid, 0)
    wait_until(lambda: living_members({pid: 0}) == {})
    second = Batch(2, queries, 60.0, silent)
    assert second.done
    assert second.workers == []
    assert second.answers == first.answers


def test_a_job_is_not_started_through_a_sudo_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stackplan.node.supervisor.SUDO_PATIENCE_S", 0.3)
    monkeypatch.setattr("os.geteuid", lambda: 65534)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    sudo = tmp_path / "sudo"
    sudo.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/asked\nsleep 600\n")
    sudo.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(CannotStart, match=r"sudo did not answer within 0\.3 s when asked to become `root`"):
        start({"job": "job", "user": "root", "stages": []}, [])
    leader = int((tmp_path / "asked").read_text())
    wait_until(lambda: living_members({leader: 0}) == {})
    assert not (tmp_path / "state").exists()
