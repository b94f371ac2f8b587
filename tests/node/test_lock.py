"""The node's lock, between real node programs."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from stackplan.connection.failure import Locked, NodeProgramFailed
from stackplan.connection.lock_owner import LockOwner
from stackplan.connection.session import Session
from stackplan.model.job import Command, Exited, Job, Work

MINE = LockOwner(run="4f2a", operator="ops", host="desk", playbook="cuda13", time="2026-12-01T03:10:22Z")
OTHER = replace(MINE, run="77bb", operator="eve")


def test_a_node_is_held_by_one_run(open_session: Callable[..., Session]) -> None:
    first, second = open_session(), open_session()
    first.lock(MINE)
    first.lock(MINE)
    with pytest.raises(
        Locked, match=r"by run 4f2a of ops on desk \(playbook cuda13, since 2026-12-01T03:10:22Z\)"
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


def test_a_lock_that_cannot_be_taken(open_session: Callable[..., Session], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null")
    with pytest.raises(NodeProgramFailed, match=r"the lock cannot be taken: .*Not a directory"):
        open_session().lock(MINE)
