"""The node's lock, between real node programs."""

import contextlib
import errno
import fcntl
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from stackplan.connection.failure import LeftOver, Locked, NodeProgramFailed
from stackplan.connection.lock_owner import LockOwner
from stackplan.connection.session import Session
from stackplan.model.job import Command, Exited, Job, Work
from stackplan.node.lock import Unusable, take
from stackplan.node.obstacle import obstacle
from stackplan.node.processes import descendants, living_members, started

MINE = LockOwner(run="4f2a", operator="ops", host="desk", playbook="cuda13", time="2026-12-01T03:10:22Z")
OTHER = replace(MINE, run="77bb", operator="eve")


def test_a_node_is_held_by_one_run(open_session: Callable[..., Session]) -> None:
    first, second = open_session(), open_session()
    first.lock(MINE)
    first.lock(MINE)
    with pytest.raises(
        Locked,
        match=r"by run 4f2a of ops on desk \(playbook cuda13, since 2026-12-01T03:10:22Z, for 0\.\d s\); nothing runs",
    ) as it:
        second.lock(OTHER)
    assert it.value.owner == MINE
    first.close()
    second.lock(OTHER)


def test_a_run_joins_its_own_lock(open_session: Callable[..., Session]) -> None:
    first, second, third = open_session(), open_session(), open_session()
    first.lock(MINE)
    second.lock(MINE)
    first.close()
    with pytest.raises(Locked, match="run 4f2a"):
        third.lock(OTHER)


def test_a_job_holds_the_lock_when_its_program_is_gone(open_session: Callable[..., Session], tmp_path: Path) -> None:
    first, second = open_session(), open_session()
    go = tmp_path / "go"
    script = f"until test -e {go}; do sleep 0.02; done"
    first.lock(MINE)
    first.start(Work(name="job", job=Job((Command(argv=("/bin/sh", "-c", script), display=""),))))
    first.close()
    with pytest.raises(Locked, match="run 4f2a"):
        second.lock(OTHER)
    third = open_session()
    third.lock(MINE)
    go.touch()
    assert third.watch("job", lambda _: None) == Exited(0)
    third.close()
    second.lock(OTHER)


def test_what_a_job_leaves_behind_does_not_hold_the_lock(open_session: Callable[..., Session], tmp_path: Path) -> None:
    first, second = open_session(), open_session()
    first.lock(MINE)
    script = f"setsid sleep 600 >/dev/null 2>&1 & echo $! > {tmp_path}/pid"
    first.start(Work(name="job", job=Job((Command(argv=("/bin/sh", "-c", script), display=""),))))
    assert first.watch("job", lambda _: None) == Exited(0)
    first.close()
    second.lock(OTHER)
    os.kill(int((tmp_path / "pid").read_text()), 9)


def test_a_lock_without_readable_owner_still_holds(open_session: Callable[..., Session], state: Path) -> None:
    first, second = open_session(), open_session()
    first.lock(MINE)
    (lock,) = state.rglob("lock")
    lock.write_bytes(b"\xff no JSON")
    with pytest.raises(Locked, match="by another run") as failure:
        second.lock(OTHER)
    assert failure.value.owner is None


def dangling(folder: Path) -> None:
    folder.parent.mkdir(parents=True)
    folder.symlink_to("/nowhere/else")


def a_file(folder: Path) -> None:
    folder.parent.mkdir(parents=True)
    folder.write_text("")


def lock_a_folder(folder: Path) -> None:
    (folder / "lock").mkdir(parents=True)


@pytest.mark.parametrize(
    ("spoil", "why", "remedy"),
    [
        (dangling, "is a link to /nowhere/else, which is not there", "make its target, or remove the link"),
        (a_file, "is not a folder", "out of the way"),
        (lock_a_folder, "lock is a folder, where a file belongs", "out of the way"),
    ],
)
def test_a_lock_that_cannot_be_taken(
    open_session: Callable[..., Session], state: Path, spoil: Callable[[Path], None], why: str, remedy: str
) -> None:
    spoil(state / "stackplan" / os.uname().nodename)
    with pytest.raises(NodeProgramFailed, match=f"the lock cannot be taken: {state}.*{why}") as failure:
        open_session().lock(MINE)
    assert remedy in str(failure.value.remedy)


@pytest.mark.parametrize(
    ("number", "why", "remedy"),
    [
        (errno.ENOSPC, "No space left on device", "make room on that disk, or set XDG_STATE_HOME"),
        (errno.EROFS, "Read-only file system", "mount it so that it can be written"),
        (errno.EACCES, "Permission denied", "give the login the right to write there"),
        (errno.EIO, "Input/output error", "look at it on the node"),
    ],
)
def test_an_obstacle_is_named_with_its_place_and_a_remedy(number: int, why: str, remedy: str) -> None:
    # As `os.write` raises it, without a name of the file.
    told = obstacle(OSError(number, os.strerror(number)), "/state/lock")
    assert told[0] == f"/state/lock: {why}"
    assert told[1].startswith(remedy)


def test_a_guard_that_somebody_holds_is_not_waited_for_for_ever(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stackplan.node.lock.GUARD_PATIENCE_S", 0.1)
    folder = state / "stackplan" / os.uname().nodename
    folder.mkdir(parents=True)
    with (folder / "lock.guard").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        with pytest.raises(
            Unusable, match=rf"lock.guard has been held for 0\.1 s by process {os.getpid()} \("
        ) as failure:
            take(MINE.plain())
    assert "end that process on the node" in failure.value.remedy
    os.close(take(MINE.plain()))


@pytest.fixture
def running(open_session: Callable[..., Session], tmp_path: Path) -> Iterator[Callable[[Session], int]]:
    """Starts a job under the lock of run 4f2a that waits for ever; returns the number of its action's process."""

    def start(session: Session) -> int:
        script = f"echo $$ > {tmp_path}/pid; mkfifo {tmp_path}/ready; echo > {tmp_path}/ready; read x < {tmp_path}/go"
        os.mkfifo(tmp_path / "go")
        job = Job((Command(argv=("/bin/sh", "-c", script), display=""),))
        session.lock(MINE)
        started = session.start(Work(name="4f2a.gpu-01.example.org.torch.1", job=job))
        supervisors.append(started.pid)
        while not (tmp_path / "ready").exists():
            os.sched_yield()
        (tmp_path / "ready").read_text()
        return int((tmp_path / "pid").read_text())

    supervisors: list[int] = []
    yield start
    pids = [*supervisors, int((tmp_path / "pid").read_text())]
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def supervisor(state: Path) -> int:
    (file,) = state.rglob("spool/*/pid")
    return int(file.read_text())


def test_an_action_that_outlives_its_supervisor_keeps_other_runs_out(
    open_session: Callable[..., Session], state: Path, running: Callable[[Session], int]
) -> None:
    first, second = open_session(), open_session()
    action = running(first)
    first.close()
    os.kill(supervisor(state), signal.SIGKILL)
    # Until its descriptors are closed, the dying supervisor holds the lock.
    with pytest.raises(LeftOver) as failure:
        lock_when_free(second)
    assert failure.value.processes == {action: "sh"}
    assert str(failure.value) == (
        "the action of step `torch` of run 4f2a still runs on the node, although its supervisor was killed: "
        f"sh ({action})"
    )
    assert (
        failure.value.remedy
        == f"wait until it has ended, or end it: `stackplan unlock`, or on the node `kill {action}`"
    )
    # The run itself may come back to say that its job is lost.
    third = open_session()
    third.lock(MINE)
    third.close()
    os.kill(action, signal.SIGKILL)
    lock_when_gone(open_session)


def lock_when_free(session: Session) -> None:
    while True:
        try:
            session.lock(OTHER)
        except LeftOver:
            raise
        except Locked:
            continue
        return


def lock_when_gone(open_session: Callable[..., Session]) -> None:
    while True:
        try:
            open_session().lock(OTHER)
        except Locked:
            continue
        return


def test_a_lock_that_was_deleted_still_holds(
    open_session: Callable[..., Session], state: Path, running: Callable[[Session], int]
) -> None:
    first = open_session()
    running(first)
    first.close()
    shutil.rmtree(state)
    for _ in range(2):
        # The second time there is a lock's file again, made by the first one who was refused.
        with pytest.raises(Locked, match=r"by run 4f2a of ops on desk") as failure:
            open_session().lock(OTHER)
        assert failure.value.owner == MINE
    joined = open_session()
    joined.lock(MINE)


@pytest.fixture
def leader() -> Iterator[int]:
    """The leader of a session of its own, whoever leads that of the tests."""
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as process:
        yield process.pid
        process.kill()


def test_a_stranger_with_the_number_of_a_session_is_none_of_its_members(leader: int) -> None:
    assert leader in living_members({leader: started(leader)})
    assert living_members({leader: started(leader) - 1}) == {}
    assert living_members({leader: started(leader) + 1}) == {}


def test_what_belongs_to_no_session_of_this_namespace_is_no_member_of_one() -> None:
    assert living_members({0: 0}) == {}
    assert descendants(os.getpid(), [0]) == descendants(os.getpid())
