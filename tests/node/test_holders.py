"""What a node tells of the runs that live there, and how that is ended; between real node programs."""

import errno
import fcntl
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from stackplan.connection.failure import LockBroken, Locked
from stackplan.connection.lock_owner import LockOwner
from stackplan.connection.session import Session
from stackplan.engine.clock import SystemClock
from stackplan.engine.stop import Stop
from stackplan.engine.unlock import break_lock
from stackplan.model.job import Absent, Command, Ended, Exited, Interrupted, Job, Rebooted, Running, Vanished, Work
from stackplan.node import lock
from stackplan.node.processes import living_members
from stackplan.node.spool import Spool, boot_id, state_folder
from tests.node.waiting import wait_until

MINE = LockOwner(run="4f2a", operator="ops", host="desk", playbook="cuda13", time="2026-12-01T03:10:22Z")
OTHER = replace(MINE, run="77bb", operator="eve")
BY = {"operator": "eve", "host": "bench"}
JOB = "4f2a.gpu.torch.1"
Open = Callable[..., Session]


def work(script: str, name: str = JOB) -> Work:
    return Work(name=name, job=Job((Command(argv=("/bin/sh", "-c", script), display=""),)), timeout_s=60.0)


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Path]:
    """What a job waits for; it is there when the test is over, so that none waits on."""
    gate = tmp_path / "gate"
    yield gate
    gate.touch()


def waits(gate: Path) -> Work:
    return work(f"until test -e {gate}; do sleep 0.02; done")


def test_a_job_is_found_from_its_start_to_its_end(open_session: Open, gate: Path) -> None:
    first, second = open_session(), open_session()
    first.lock(MINE)
    assert first.find(JOB) == Absent()
    first.start(waits(gate))
    first.close()
    second.lock(MINE)
    found = second.find(JOB)
    assert isinstance(found, Running)
    assert found.age_s is not None
    gate.touch()
    assert second.watch(JOB, lambda _: None) == Exited(0)
    assert second.find(JOB) == Ended(Exited(0))


def test_a_job_that_lost_its_supervisor_has_vanished_and_its_processes_are_told(open_session: Open, gate: Path) -> None:
    session = open_session()
    session.lock(MINE)
    session.start(waits(gate))
    spool = Spool(JOB)
    wait_until(lambda: bool(living_members(spool.sessions())))
    pid = spool.pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not spool.supervised())
    found = session.find(JOB)
    assert isinstance(found, Vanished)
    assert "was killed" in found.why
    assert "sh" in found.processes.values()
    gate.touch()
    wait_until(lambda: session.find(JOB) == Vanished(found.why))


def test_a_job_of_another_boot_has_vanished(open_session: Open) -> None:
    session = open_session()
    session.lock(MINE)
    session.start(work("exit 0"))
    session.watch(JOB, lambda _: None)
    spool = Spool(JOB)
    Path(spool.file("ending.json")).unlink()
    record = Path(spool.file("job.json"))
    record.write_text(record.read_text().replace(spool.boot(), "another-boot"))
    rebooted = Rebooted("another-boot", boot_id())
    assert session.find(JOB) == Vanished("the node was restarted while the job ran", rebooted=rebooted)
    assert session.watch(JOB, lambda _: None) == rebooted


def test_a_run_whose_controller_is_gone_is_told_from_one_that_goes_on(open_session: Open, gate: Path) -> None:
    first, second = open_session(), open_session()
    first.lock(MINE)
    first.start(waits(gate))
    with pytest.raises(Locked, match=r"step `torch` has been running there for 0\.\d s") as held:
        second.lock(OTHER)
    assert held.value.attended
    (job,) = held.value.jobs
    assert (job.job, job.timeout_s, job.supervised) == (JOB, 60.0, True)
    told = second.holders()
    assert (told.held, told.owner, len(told.programs), told.jobs[0].step) == (True, MINE, 1, "torch")
    first.close()
    wait_until(lambda: not second.holders().programs)
    with pytest.raises(Locked, match="its controller is gone; step `torch`") as held:
        second.lock(OTHER)
    assert not held.value.attended
    assert "`stackplan resume 4f2a`" in str(held.value.remedy)
    gate.touch()
    wait_until(lambda: second.holders().none)
    second.lock(OTHER)


def test_a_lock_is_broken_and_what_held_it_does_not_come_back(open_session: Open, gate: Path) -> None:
    first, second, third = open_session(), open_session(), open_session()
    first.lock(MINE)
    first.start(waits(gate))
    assert break_lock(second, BY, SystemClock(), Stop()).none
    assert second.find(JOB) == Ended(Interrupted())
    with pytest.raises(LockBroken, match="was broken by eve on bench while the connection was away"):
        third.lock(MINE, again=True)
    # Who comes anew may have it: somebody has decided so.
    third.lock(MINE)
    third.lock(MINE, again=True)


def test_what_ignores_term_and_what_lost_its_supervisor_is_killed(
    open_session: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stackplan.engine.unlock.RESERVE_S", 0.5)
    session, other = open_session(), open_session()
    session.lock(MINE)
    session.start(work(f"trap '' TERM; touch {tmp_path}/deaf; while :; do sleep 0.1; done"))
    spool = Spool(JOB)
    wait_until((tmp_path / "deaf").exists)
    pid = spool.pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    session.close()
    wait_until(lambda: not other.holders().held)
    (job,) = other.holders().jobs
    assert not job.supervised
    assert break_lock(other, BY, SystemClock(), Stop(), grace_s=0.0).none
    assert living_members(spool.sessions()) == {}


def test_who_only_looks_keeps_no_job_from_starting(open_session: Open) -> None:
    session = open_session()
    session.lock(MINE)
    spool = Spool(JOB)
    Path(spool.path).mkdir(mode=0o700, parents=True)
    with open(spool.file("alive"), "w") as looking:  # noqa: PTH123 - a name of the spool's
        fcntl.flock(looking, fcntl.LOCK_EX)
        started: list[object] = []
        starter = threading.Thread(target=lambda: started.append(session.start(work("exit 3"))))
        starter.start()
        starter.join(0.1)
    starter.join()
    assert session.watch(JOB, lambda _: None) == Exited(3)


def test_what_runs_is_found_and_ended_although_its_folder_was_deleted(open_session: Open, gate: Path) -> None:
    first, second, third = open_session(), open_session(), open_session()
    first.lock(MINE)
    first.start(waits(gate))
    pid = Spool(JOB).pid()
    first.close()
    wait_until(lambda: not second.holders().programs)
    shutil.rmtree(state_folder())
    found = second.holders()
    assert (found.held, found.owner, [job.job for job in found.jobs]) == (True, MINE, [JOB])
    assert pid in found.jobs[0].processes
    whereabouts = second.find(JOB)
    assert isinstance(whereabouts, Vanished)
    assert (pid in whereabouts.processes, "was deleted while it ran" in whereabouts.why) == (True, True)
    assert second.find("4f2a.gpu.other.1") == Absent()
    # A folder that another has made since changes nothing.
    third.lock(MINE)
    assert isinstance(second.find(JOB), Vanished)
    third.close()
    assert break_lock(second, BY, SystemClock(), Stop()).none
    assert second.find(JOB) == Absent()


def test_a_lock_is_looked_at_where_nothing_can_be_written(open_session: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that turned read-only keeps what it has: whoever asks is told who holds the node, not that he may not."""
    session = open_session()
    session.lock(MINE)
    true_open = os.open

    def refuse(path: str, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_ACCMODE != os.O_RDONLY:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
        return true_open(path, flags, mode)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        owner, age_s = lock.holder()
        with pytest.raises(lock.Unusable, match="Read-only file system") as failure:
            lock.take(OTHER.plain())
    assert owner is not None
    assert (owner["run"], age_s is not None) == ("4f2a", True)
    assert "mount it so that it can be written" in failure.value.remedy
