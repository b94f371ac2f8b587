"""Jobs that are to end the node's boot, as the node itself tells of them: only another boot is their success."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stackplan.connection.session import Session
from stackplan.model.job import (
    Absent,
    Command,
    Ended,
    Ending,
    Exited,
    Job,
    Lost,
    NotRebooted,
    NotStarted,
    Rebooted,
    Vanished,
    Work,
)
from stackplan.node.processes import living_members
from stackplan.node.spool import Spool, boot_id
from tests.node.waiting import wait_until

JOB = "4f2a.gpu.restart.1"


def work(script: str, boot: str | None = None) -> Work:
    command = Command(argv=("/bin/sh", "-c", script), display="")
    return Work(name=JOB, job=Job((command,), ends_boot=boot or boot_id()), timeout_s=60.0)


def watched(session: Session) -> Ending:
    return session.watch(JOB, lambda _: None)


def started_in(boot: str) -> None:
    """Have the spool say in which boot the job was started."""
    record = Path(Spool(JOB).file("job.json"))
    record.write_text(json.dumps({**json.loads(record.read_text()), "boot": boot}))


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Path]:
    gate = tmp_path / "gate"
    yield gate
    gate.touch()


def test_it_is_not_started_in_another_boot(session: Session, tmp_path: Path) -> None:
    refused = session.start(work(f"touch {tmp_path}/restarted", boot="another"))
    assert isinstance(refused, NotStarted)
    assert refused.why == f"it is to end boot another, and the node answers from {boot_id()}"
    assert session.find(JOB) == Absent()
    assert not (tmp_path / "restarted").exists()


@pytest.mark.parametrize(
    ("script", "now"),
    [("exit 0", None), ("kill -TERM $$", None), ("exit 3", Exited(3))],
    ids=["asked for", "ended by the shutdown", "refused"],
)
def test_what_it_exits_with_counts_only_where_it_refuses(session: Session, script: str, now: Ending | None) -> None:
    session.start(work(script))
    assert watched(session) == (now or NotRebooted(boot_id()))
    assert session.find(JOB) == Ended(now or NotRebooted(boot_id()))
    started_in("another")
    assert watched(session) == Rebooted("another", boot_id())


def test_its_supervisor_leaves_with_the_shutdown_and_takes_no_end_for_known(session: Session, gate: Path) -> None:
    session.start(work(f"until test -e {gate}; do sleep 0.02; done"))
    spool = Spool(JOB)
    wait_until(lambda: bool(living_members(spool.sessions())))
    pid = spool.pid()
    assert pid is not None
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not spool.supervised())
    assert watched(session) == NotRebooted(boot_id())
    assert isinstance(session.find(JOB), Vanished)
    started_in("another")
    assert session.find(JOB) == Vanished(
        "the node was restarted while the job ran", rebooted=Rebooted("another", boot_id())
    )


def test_a_boot_that_nobody_noted_leaves_it_unknown(session: Session) -> None:
    session.start(work("exit 0"))
    assert watched(session) == NotRebooted(boot_id())
    started_in("")
    assert watched(session) == Lost("the node answers, but its boot id cannot be read")


@pytest.mark.parametrize(
    ("noted", "now", "told"),
    [("one", "two", {"before": "one", "after": "two"}), ("one", "one", None), ("", "two", None), ("one", "", None)],
)
def test_a_boot_that_is_not_known_is_no_other_one(
    state: Path, monkeypatch: pytest.MonkeyPatch, noted: str, now: str, told: Callable[..., object]
) -> None:
    spool = Spool(JOB)
    Path(spool.path).mkdir(parents=True)
    Path(spool.file("job.json")).write_text(json.dumps({"boot": noted}))
    monkeypatch.setattr("stackplan.node.spool.boot_id", lambda: now)
    assert spool.rebooted() == told
