"""The session over streams that do what they should not."""

import base64
import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackplan.connection.connect import connect
from stackplan.connection.failure import (
    ConnectionFailure,
    ConnectionLost,
    LockBroken,
    Locked,
    NodeProgramFailed,
    NodeProgramMissing,
)
from stackplan.connection.handshake import Greeting, Opened, open_program
from stackplan.connection.lock_owner import LockOwner
from stackplan.connection.process import ProcessStream
from stackplan.connection.session import Session
from stackplan.connection.stream import StreamBroken
from stackplan.model.facts import Failed, Known, Query
from stackplan.model.job import Command, Exited, Interrupted, Job, Lost, NotStarted, Work
from stackplan.model.node import Node, NodeName, Transport
from stackplan.node.frames import Decoder, encode

GREETING = Greeting(python="3.11.2", executable="/usr/bin/python3", user="ops", uid=1, home="/h", host="n", pid=7)
QUERY = Query("nvcc", {})
OWNER = LockOwner(run="R", operator="ops", host="desk", playbook="p", time="T")


class Scripted:
    """A stream that gives what it was told to give, a piece at a time; then it ends, or is silent."""

    def __init__(self, *pieces: bytes, silent: bool = False) -> None:
        self.pieces = list(pieces)
        self.silent = silent
        self.written: list[bytes] = []
        self.closed = False
        self.execs = 1

    def read(self, size: int, timeout_s: float) -> bytes:
        if self.pieces:
            return self.pieces.pop(0)
        if self.silent:
            raise TimeoutError
        return b""

    def write(self, data: bytes, timeout_s: float) -> None:
        if self.closed:
            raise StreamBroken("closed")
        self.written.append(data)

    def close(self) -> None:
        self.closed = True

    def stderr_tail(self) -> str:
        return "last words"

    def exit_status(self) -> int | None:
        return None


def session_of(*pieces: bytes, silent: bool = False) -> Session:
    return Session(Scripted(*pieces, silent=silent), Opened(GREETING, Decoder(), ()), silence_s=0.5)


def reply(**fields: Any) -> bytes:
    return encode({"id": 2, **fields})


@pytest.mark.parametrize(
    ("piece", "why"),
    [
        (b"", "the connection was cut: last words"),
        (b"\xff\xff\xff\xffxx", "no frame of the node program: a frame claims 4294967295 bytes"),
        (b"\x00\x00\x00\x02{]", "no frame of the node program: a frame is not JSON"),
        (b"Broadcast message from root", "no frame of the node program"),
        (encode({"id": 99, "answers": []}), "no reply of the node program: {'id': 99"),
        (encode({"id": -1}), "no reply"),
        (encode({"id": "2"}), "no reply"),
        (encode({"id": True}), "no reply"),
        (encode(["id"]), "no reply"),
        (encode({"id": 0, "error": "a frame is not JSON"}), "could not read a request: a frame is not JSON"),
        (reply(answers=[]), "1 answers were expected"),
        (reply(answers={}), "1 answers were expected"),
        (reply(answers=[{"maybe": 1}]), "neither known, unknown nor failed"),
        (reply(answers=[None]), "neither known, unknown nor failed"),
        (reply(), "1 answers were expected"),
    ],
)
def test_what_a_node_may_not_answer(piece: bytes, why: str) -> None:
    session = session_of(*([piece] if piece else []))
    with pytest.raises(ConnectionLost, match=why.replace("{", r"\{")):
        session.ask([QUERY])


def test_silence_is_a_lost_connection() -> None:
    with pytest.raises(ConnectionLost, match=r"nothing was heard of the node for 0\.5 s"):
        session_of(silent=True).ask([QUERY])


def test_a_broken_session_stays_broken() -> None:
    session = session_of(encode({"id": 99}))
    for _ in range(2):
        with pytest.raises(ConnectionLost, match="no reply of the node program"):
            session.ask([QUERY])


@given(st.binary(max_size=200))
def test_any_bytes_are_an_answer_or_a_named_failure(data: bytes) -> None:
    with pytest.raises(ConnectionLost):
        session_of(data).ask([QUERY])


@given(st.binary(max_size=200))
def test_any_bytes_instead_of_the_program_are_a_named_failure(data: bytes) -> None:
    with pytest.raises(ConnectionFailure, match=r"."):
        open_program(Scripted(data), b"", 1.0)


def test_heartbeats_and_replies_to_forgotten_requests_pass_by() -> None:
    alive = encode({"id": 0, "alive": True})
    late = encode({"id": 1, "output": "", "offset": 0})
    assert session_of(alive, late, alive, reply(answers=[{"known": 1}])).ask([QUERY]) == {QUERY: Known(1)}


def test_an_error_is_an_answer_of_its_kind() -> None:
    job = Job((Command(argv=("true",), display="true"),))
    assert session_of(reply(error="no")).ask([QUERY]) == {QUERY: Failed("no")}
    assert session_of(reply(error="no")).start(Work(name="job", job=job)) == NotStarted("no")
    assert session_of(reply(error="no")).watch("job", print) == Lost("no")


@pytest.mark.parametrize("ending", [{"exited": "x"}, {"ended": 0}, None, [], {"timed_out": None}])
def test_an_ending_that_cannot_be_read(ending: object) -> None:
    with pytest.raises(ConnectionLost, match="an ending"):
        session_of(reply(ending=ending)).watch("job", print)


@pytest.mark.parametrize("output", [7, "=", "no base64"])
def test_output_that_cannot_be_read(output: object) -> None:
    with pytest.raises(ConnectionLost, match="output was expected"):
        session_of(reply(output=output)).watch("job", print)


def test_what_is_missing_of_the_output_is_said() -> None:
    output: list[bytes] = []
    data = base64.b64encode(b"end").decode()
    session = session_of(reply(output=data, offset=9, skipped=6), reply(ending={"exited": 0}))
    assert session.watch("job", output.append) == Exited(0)
    assert b"".join(output) == b"\n[stackplan: 6 bytes of output are missing here]\nend"


def test_the_same_question_twice_is_asked_once() -> None:
    session = session_of(reply(answers=[{"known": 1}]))
    assert session.ask([QUERY, Query("nvcc", {})]) == {QUERY: Known(1)}
    assert session.ask([]) == {}
    assert session.round_trips == 2


def here() -> Session:
    return connect(Node(name=NodeName("here"), transport=Transport.LOCAL))


class Beating(Scripted):
    """A node program that lives, and whose job never ends."""

    def read(self, size: int, timeout_s: float) -> bytes:
        return encode({"id": 0, "alive": True})


def test_a_job_that_is_long_overdue_is_lost_although_the_node_is_heard() -> None:
    session = Session(Beating(), Opened(GREETING, Decoder(), ()), silence_s=0.5)
    ending = session.watch("job", lambda _: None, patience_s=0.02)
    assert isinstance(ending, Lost)
    assert "did not say so, long after the time limit; its supervisor there may be stopped" in ending.why


def test_an_overdue_job_that_has_ended_is_not_lost() -> None:
    session = session_of(encode({"id": 2, "output": "", "offset": 0}), encode({"id": 2, "ending": {"exited": 0}}))
    assert session.watch("job", lambda _: None, patience_s=60.0) == Exited(0)


def test_asking_and_terminating_while_another_thread_watches() -> None:
    job = Job((Command(argv=("/bin/sh", "-c", "echo up; sleep 600 & wait"), display=""),))
    up, endings = threading.Event(), []
    with here() as session:
        session.start(Work(name="job", job=job))
        watching = threading.Thread(target=lambda: endings.append(session.watch("job", lambda _: up.set())))
        watching.start()
        assert up.wait(20)
        query = Query("no_such_query", {})
        assert query in session.ask([query])
        session.terminate("job", 0.2)
        watching.join(20)
    assert endings == [Interrupted()]


def test_all_who_wait_hear_of_the_loss() -> None:
    job = Job((Command(argv=("/bin/sh", "-c", "echo up; sleep 600 & wait"), display=""),))
    failures: list[str] = []
    up = threading.Barrier(4)

    def watch(session: Session, first: Callable[[], object]) -> None:
        told: list[bytes] = []

        def on_output(data: bytes) -> None:
            if not told:
                told.append(data)
                first()

        with pytest.raises(ConnectionLost) as failure:
            session.watch("job", on_output)
        failures.append(failure.value.summary)

    with here() as session:
        session.start(Work(name="job", job=job))
        watchers = [threading.Thread(target=watch, args=(session, up.wait)) for _ in range(3)]
        for thread in watchers:
            thread.start()
        up.wait(20)
        os.kill(session.greeting.pid, signal.SIGKILL)
        for thread in watchers:
            thread.join(20)
    with here() as again:
        again.terminate("job", 0.2)
        assert again.watch("job", lambda _: None) == Interrupted()
    assert [why.startswith("the connection was cut") for why in failures] == [True] * 3


def test_no_program_and_nothing_printed() -> None:
    with pytest.raises(ConnectionLost, match="ended before the node program answered"):
        open_program(Scripted(), b"", 1.0)
    with pytest.raises(NodeProgramMissing, match="did not answer within 1 s"):
        open_program(Scripted(silent=True), b"", 1.0)


def test_a_process_whose_streams_another_thread_closes_is_a_broken_stream() -> None:
    stream = ProcessStream(["/bin/sh", "-c", "echo ready; exec sleep 600"])
    assert stream.read(16, 10.0) == b"ready\n"
    reading = threading.Thread(target=lambda: outcomes.append(_read(stream)))
    outcomes: list[object] = []
    reading.start()
    stream.close()
    reading.join(10.0)
    assert outcomes in ([b""], [StreamBroken])
    with pytest.raises(StreamBroken, match="closed"):
        stream.write(b"x", 1.0)


def _read(stream: ProcessStream) -> object:
    try:
        return stream.read(16, 10.0)
    except StreamBroken:
        return StreamBroken


@pytest.mark.parametrize(
    ("fields", "call"),
    [
        ({"held_by": {"run": "R"}, "age_s": "old"}, lambda it: it.lock(OWNER)),
        ({"held_by": {"run": "R"}, "jobs": [{}]}, lambda it: it.lock(OWNER)),
        ({"holders": None}, lambda it: it.holders()),
        ({"holders": {"owner": None, "jobs": 7}}, lambda it: it.holders()),
        ({"holders": {"owner": None, "programs": {"x": "y"}}}, lambda it: it.holders()),
        ({"found": {}}, lambda it: it.find("job")),
        ({"found": {"ended": {"exited": "never"}}}, lambda it: it.find("job")),
        ({"found": {"vanished": {}}}, lambda it: it.find("job")),
    ],
)
def test_what_a_node_may_not_say_of_who_holds_it(fields: dict[str, Any], call: Callable[[Session], Any]) -> None:
    with pytest.raises(ConnectionLost, match="cannot be read"):
        call(session_of(reply(**fields)))


@pytest.mark.parametrize(
    "call", [lambda it: it.holders(), lambda it: it.find("job"), lambda it: it.break_lock({}, 1.0)]
)
def test_a_node_that_cannot_say_who_holds_it_says_why(call: Callable[[Session], Any]) -> None:
    with pytest.raises(NodeProgramFailed, match="no such file"):
        call(session_of(reply(error="no such file")))


def test_a_lock_is_told_with_all_that_is_known_of_it() -> None:
    job = {
        "job": "R.gpu.with.dots.torch.2",
        "age_s": 190.0,
        "timeout_s": 600,
        "supervised": False,
        "processes": {"7": "sh"},
    }
    with pytest.raises(Locked) as held:
        session_of(reply(held_by=OWNER.plain(), age_s=720.0, attended=False, jobs=[job])).lock(OWNER)
    assert str(held.value) == (
        "the node is locked by run R of ops on desk (playbook p, since T, for 12 min 00 s); its controller is gone; "
        "step `torch` has been running there for 3 min 10 s, without its supervisor"
    )
    assert "`stackplan resume R`" in str(held.value.remedy)
    with pytest.raises(LockBroken, match="was broken by eve on another host"):
        session_of(reply(broken_by={"operator": "eve"})).lock(OWNER, again=True)
