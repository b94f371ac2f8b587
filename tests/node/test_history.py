"""The history that a node keeps, through real node programs."""

import json
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from stackplan.connection.failure import Locked
from stackplan.connection.lock_owner import LockOwner
from stackplan.connection.session import Session
from stackplan.model.facts import Failed, Known, Query
from stackplan.node import history
from tests.node.waiting import wait_until

OWNER = LockOwner(run="4f2a", operator="ops", host="desk", playbook="cuda13", time="2026-12-01T03:10:22Z")
BEGAN = {"entry": "began", "run": "4f2a"}
ENDED = {"entry": "ended", "run": "4f2a"}
ASKED = Query("history", {"most": 1200})


@pytest.fixture
def path(state: Path) -> Path:
    return state / "stackplan" / os.uname().nodename / "history.jsonl"


def told(session: Session) -> dict[str, object]:
    answer = session.ask([ASKED])[ASKED]
    assert isinstance(answer, Known)
    return answer.value  # type: ignore[return-value]


def test_a_node_without_history_has_an_empty_one(session: Session) -> None:
    assert told(session) == {"entries": [], "unreadable": 0, "held_by": None}


def test_a_beginning_travels_with_the_lock_and_an_end_by_itself(session: Session, path: Path) -> None:
    before = session.round_trips
    assert session.lock(OWNER, BEGAN) is None
    assert session.round_trips == before + 1
    assert session.record(ENDED) is None
    assert told(session) == {"entries": [BEGAN, ENDED], "unreadable": 0, "held_by": "4f2a"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_whoever_does_not_get_the_lock_writes_nothing(open_session: Callable[..., Session]) -> None:
    first, second = open_session(), open_session()
    first.lock(OWNER, BEGAN)
    with pytest.raises(Locked, match="4f2a"):
        second.lock(LockOwner(**{**OWNER.plain(), "run": "77bb"}), {"entry": "began", "run": "77bb"})
    assert told(second) == {"entries": [BEGAN], "unreadable": 0, "held_by": "4f2a"}
    first.close()
    wait_until(lambda: told(second)["held_by"] is None)


def test_a_torn_line_spoils_itself_alone(session: Session, path: Path) -> None:
    session.record(BEGAN)
    with path.open("ab") as file:
        file.write(b'{"entry":"beg')
    session.record(ENDED)
    assert told(session) == {"entries": [BEGAN, ENDED], "unreadable": 1, "held_by": None}
    path.write_bytes(path.read_bytes() + b"\xff\x00\n[1]\n" + b"[" * 50_000 + b"\n")
    assert told(session) == {"entries": [BEGAN, ENDED], "unreadable": 4, "held_by": None}


def test_a_history_that_cannot_be_written_is_told_and_does_not_keep_the_lock_away(session: Session, path: Path) -> None:
    path.mkdir(parents=True)
    why = session.lock(OWNER, BEGAN)
    assert why is not None
    assert "history.jsonl is a folder" in why
    assert "history.jsonl" in str(session.record(ENDED))
    assert isinstance(session.ask([ASKED])[ASKED], Failed)


def test_an_entry_without_bounds_is_refused(session: Session) -> None:
    assert "longer than" in str(session.record({"entry": "began", "run": "x" * history.ENTRY_LIMIT}))
    assert told(session) == {"entries": [], "unreadable": 0, "held_by": None}


def test_writers_do_not_mix_their_lines(state: Path) -> None:
    def write(name: str) -> None:
        for number in range(200):
            history.append({"run": name * 2000, "number": number})

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    entries, unreadable = history.entries(1000)
    assert (len(entries), unreadable) == (800, 0)


def test_it_is_cut_down_when_a_run_takes_the_node(open_session: Callable[..., Session], path: Path) -> None:
    path.parent.mkdir(parents=True)
    lines = [json.dumps({"number": number}) for number in range(history.KEPT + history.SLACK + 1)]
    path.write_text("\n".join(lines) + "\n")
    open_session().lock(OWNER, BEGAN)
    kept = path.read_text().splitlines()
    assert kept == [*lines[-history.KEPT :], json.dumps(BEGAN, separators=(",", ":"))]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_history_within_its_bound_is_left_as_it_is(session: Session, path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_text('{"number":1}\n' * (history.KEPT + history.SLACK))
    inode = path.stat().st_ino
    session.lock(OWNER)
    assert path.stat().st_ino == inode


def test_of_a_blown_up_history_the_end_is_read(state: Path, path: Path) -> None:
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.seek(1 << 40)
        file.write(b'\n{"run":"last"}\n')
    assert history.entries(10) == ([{"run": "last"}], 0)


def test_the_latest_entries_are_told(state: Path) -> None:
    for number in range(5):
        history.append({"number": number})
    assert history.entries(2) == ([{"number": 3}, {"number": 4}], 0)
    assert history.entries(0) == ([], 0)
