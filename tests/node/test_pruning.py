"""What jobs leave behind goes when it is old, and nothing else does."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from stackplan.connection.lock_owner import LockOwner
from stackplan.connection.session import Session
from stackplan.model.job import Command, Exited, Job, Work
from stackplan.node import pruning
from stackplan.node.pruning import KEPT, KEPT_ALWAYS, KEPT_S, prune
from tests.node.waiting import wait_until

RUN = "20261201T031022Z-4f2a"
DAY_S = 24 * 3600.0


@pytest.fixture
def spool(state: Path) -> Path:
    path = state / "stackplan" / os.uname().nodename / "spool"
    path.mkdir(parents=True)
    return path


@pytest.fixture
def job(spool: Path) -> Callable[..., Path]:
    """Make the folder of a job that ended so many days ago (None: that did not end)."""

    def made(name: str, days: float | None) -> Path:
        folder = spool / name
        folder.mkdir()
        for file in ("alive", "job.json", "pid", "output", "output.1"):
            (folder / file).write_text("x")
        if days is not None:
            (folder / "ending.json").write_text("{}")
            then = time.time() - days * DAY_S
            os.utime(folder / "ending.json", (then, then))
        return folder

    return made


def left(spool: Path) -> set[str]:
    """Return the jobs that are kept whole; of all others their start and their end are on record."""
    whole = {path.name for path in spool.iterdir() if (path / "output").exists()}
    for path in spool.iterdir():
        assert path.name in whole or {it.name for it in path.iterdir()} == {"pid", "ending.json"}
    return whole


def test_beyond_a_count_the_oldest_go(spool: Path, job: Callable[..., Path]) -> None:
    for number in range(KEPT + 3):
        job(f"old.{number}", days=number / 1000)
    assert prune(RUN) == 3
    assert left(spool) == {f"old.{number}" for number in range(KEPT)}


def test_what_is_old_goes_but_for_the_latest(spool: Path, job: Callable[..., Path]) -> None:
    for number in range(KEPT_ALWAYS + 2):
        job(f"old.{number}", days=KEPT_S / DAY_S + 1 + number)
    assert prune(RUN) == 2
    assert left(spool) == {f"old.{number}" for number in range(KEPT_ALWAYS)}


def test_what_is_young_stays(spool: Path, job: Callable[..., Path]) -> None:
    for number in range(KEPT_ALWAYS + 5):
        job(f"young.{number}", days=KEPT_S / DAY_S - 1)
    assert prune(RUN) == 0


def test_what_has_no_end_and_what_belongs_to_the_run_stays(spool: Path, job: Callable[..., Path]) -> None:
    for number in range(KEPT):
        job(f"young.{number}", days=0)
    job(f"{RUN}.a.torch.1", days=400)
    job("other.a.torch.1", days=400)
    job("lost.a.torch.1", days=None)
    job("-no job's name", days=400)
    assert prune(RUN) == 1
    assert {f"{RUN}.a.torch.1", "lost.a.torch.1", "-no job's name"} <= left(spool)
    assert "other.a.torch.1" not in left(spool)


def test_a_job_whose_supervisor_lives_stays_however_old_its_end_is_said_to_be(
    session: Session, spool: Path, job: Callable[..., Path], tmp_path: Path
) -> None:
    for number in range(KEPT):
        job(f"young.{number}", days=0)
    go = tmp_path / "go"
    script = f"until test -e {go}; do sleep 0.02; done"
    session.start(Work(name="lives", job=Job((Command(argv=("/bin/sh", "-c", script), display=""),))))
    (spool / "lives" / "ending.json").write_text("{}")
    os.utime(spool / "lives" / "ending.json", (1, 1))
    assert prune(RUN) == 0
    (spool / "lives" / "ending.json").unlink()
    go.touch()
    assert session.watch("lives", lambda _: None) == Exited(0)


def test_time_is_bounded(spool: Path, job: Callable[..., Path]) -> None:
    for number in range(KEPT + 3):
        job(f"old.{number}", days=number)
    assert prune(RUN, patience_s=0.0) == 0
    assert prune(RUN) == KEPT + 3 - 30


def test_cut_off_in_the_middle_it_still_says_that_the_job_ended(
    spool: Path, job: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(KEPT):
        job(f"young.{number}", days=0)
    folder = job("old", days=1)
    unlink, removed = os.unlink, []

    monkeypatch.setattr(pruning, "ENDS_KEPT", KEPT)

    def unlink_three(path: str) -> None:
        if len(removed) == 3:
            raise OSError(5, "Input/output error", path)
        removed.append(path)
        unlink(path)

    monkeypatch.setattr(pruning.os, "unlink", unlink_three)
    assert prune(RUN) == 0
    assert (folder / "ending.json").exists()
    monkeypatch.undo()


def test_a_job_that_was_pruned_is_known_to_have_ended_and_is_not_started_again(
    session: Session, spool: Path, job: Callable[..., Path], tmp_path: Path
) -> None:
    work = Work(name="count", job=Job((Command(argv=("/bin/sh", "-c", f"echo x >> {tmp_path}/count"), display=""),)))
    session.start(work)
    assert session.watch("count", lambda _: None) == Exited(0)
    os.utime(spool / "count" / "ending.json", (1, 1))
    for number in range(KEPT_ALWAYS):
        job(f"young.{number}", days=0)
    wait_until(lambda: prune(RUN) == 1)
    assert {it.name for it in (spool / "count").iterdir()} == {"pid", "ending.json"}
    session.start(work)
    assert session.watch("count", lambda _: None) == Exited(0)
    assert (tmp_path / "count").read_text() == "x\n"


def test_what_is_pruned_once_is_nothing_to_prune(spool: Path, job: Callable[..., Path]) -> None:
    for number in range(KEPT + 2):
        job(f"old.{number}", days=number / 1000)
    assert (prune(RUN), prune(RUN)) == (2, 0)


def test_beyond_a_far_larger_count_even_the_record_goes(
    spool: Path, job: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruning, "ENDS_KEPT", KEPT + 1)
    for number in range(KEPT + 3):
        job(f"old.{number}", days=number / 1000)
    assert prune(RUN) == 3
    assert {path.name for path in spool.iterdir()} == {f"old.{number}" for number in range(KEPT + 1)}


def test_without_a_spool_there_is_nothing_to_do(state: Path) -> None:
    assert prune(RUN) == 0


def test_a_run_that_takes_the_node_prunes_it(session: Session, spool: Path, job: Callable[..., Path]) -> None:
    for number in range(KEPT + 1):
        job(f"old.{number}", days=number / 1000)
    session.lock(LockOwner(run=RUN, operator="ops", host="desk", playbook="p", time="T"))
    assert len(left(spool)) == KEPT
