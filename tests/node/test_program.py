"""Questions to a node program: three kinds of answers, and none that takes the others with it."""

import os
from pathlib import Path

import pytest

from stackplan.connection import bundle as sent
from stackplan.connection.handshake import open_program
from stackplan.connection.local import local
from stackplan.connection.session import Session
from stackplan.model.facts import Failed, Known, Query, Unknown
from stackplan.node import boot
from tests.node.waiting import wait_until

QUERIES = {
    "who": "def answer(arguments, context):\n    return [context.user, context.home]\n",
    "cannot_tell": "from stackplan.node.context import CannotTell\n"
    "def answer(arguments, context):\n    raise CannotTell('there is no nvidia-smi')\n",
    "probe_failed": "from stackplan.node.context import ProbeFailed\n"
    "def answer(arguments, context):\n    raise ProbeFailed('nvidia-smi exited 9', 'no devices')\n",
    "breaks": "def answer(arguments, context):\n    return {}['x']\n",
    "broken_import": "import there_is_no_such_module\n",
    "syntax": "def answer(:\n",
    "leaves": "import os\ndef answer(arguments, context):\n    os.kill(os.getpid(), 9)\n",
    "exits": "def answer(arguments, context):\n    raise SystemExit(0)\n",
    "not_json": "def answer(arguments, context):\n    return {1, 2}\n",
    "prints": "import os\ndef answer(arguments, context):\n    print('x')\n    os.write(1, b'y')\n    return 'said'\n",
    "hangs": "import os, time\ndef answer(arguments, context):\n"
    "    open(arguments['pid'], 'w').write(str(os.getpid()))\n    time.sleep(600)\n",
    "starts": "import subprocess\ndef answer(arguments, context):\n"
    "    with subprocess.Popen(['cat'], stdin=subprocess.PIPE) as child:\n"
    "        open(arguments['told'], 'w').write(str(child.pid))\n        open(arguments['seen']).read()\n"
    "    return child.pid\n",
    "looks": "import os\nfrom stackplan.node.processes import of_this_program\n"
    "def answer(arguments, context):\n    open(arguments['told']).read()\n    found = of_this_program()\n"
    "    open(arguments['seen'], 'w').close()\n    return [os.getpid(), *sorted(found)]\n",
    "shares": "def answer(arguments, context):\n"
    "    context.memo['asked'] = context.memo.get('asked', 0) + 1\n    return context.memo['asked']\n",
}


@pytest.fixture
def session(state: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """A session with a node program that has queries of our own."""
    sources = {"stackplan": ""}
    sources.update(sent._sources(sent.importlib.resources.files("stackplan.node"), "stackplan.node"))
    sources.update({f"stackplan.node.queries.{kind}": text for kind, text in QUERIES.items()})
    # Waiting for a slow query is what is tested; how long it is waited for is not.
    sources["stackplan.node.asker"] = sources["stackplan.node.asker"].replace("PATIENCE_S = 2.0", "PATIENCE_S = 0.1")
    stream = local(boot.shell_command())
    with Session(stream, open_program(stream, boot.bundle(sources), 15.0)) as session:
        yield session  # type: ignore[misc]


def gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists() or ") Z " in Path(f"/proc/{pid}/stat").read_text()


def test_the_greeting_says_who_is_there(session: Session) -> None:
    assert session.greeting.uid == os.geteuid()
    assert session.greeting.host == os.uname().nodename


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        ("cannot_tell", Unknown("there is no nvidia-smi")),
        ("probe_failed", Failed("nvidia-smi exited 9", "no devices")),
        ("no_such_kind", Unknown("the node program has no query `no_such_kind`")),
        ("_private", Unknown("the node program has no query `_private`")),
        ("../os", Unknown("the node program has no query `../os`")),
        ("leaves", Failed("the process that asked it ended without an answer")),
        ("prints", Known("said")),
    ],
)
def test_each_query_ends_in_its_own_way(session: Session, kind: str, answer: object) -> None:
    query = Query(kind, {})
    assert session.ask([query]) == {query: answer}


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("breaks", "the query `breaks` broke: KeyError: 'x' (<stackplan.node.queries.breaks>:2)"),
        ("not_json", "the query `not_json` broke: TypeError: Object of type set is not JSON serializable"),
        ("exits", "the query `exits` broke: SystemExit: 0"),
        (
            "broken_import",
            "the query `broken_import` broke: ModuleNotFoundError: No module named 'there_is_no_such_module'",
        ),
        ("syntax", "the query `syntax` broke: SyntaxError: invalid syntax"),
    ],
)
def test_a_query_that_breaks_says_where_and_harms_no_other(session: Session, kind: str, why: str) -> None:
    answers = session.ask([Query(kind, {}), Query("prints", {})])
    failed, known = answers.values()
    assert isinstance(failed, Failed)
    assert failed.why.startswith(why)
    assert known == Known("said")


def test_the_queries_of_a_batch_share_what_they_found(session: Session) -> None:
    answers = session.ask([Query("shares", {"n": 1}), Query("shares", {"n": 2})])
    assert list(answers.values()) == [Known(1), Known(2)]
    assert list(session.ask([Query("shares", {})]).values()) == [Known(1)]


def test_a_question_knows_what_another_one_has_started(session: Session, tmp_path: Path) -> None:
    pipes = {name: str(tmp_path / name) for name in ("told", "seen")}
    for path in pipes.values():
        os.mkfifo(path)
    started, looked = session.ask([Query("starts", pipes), Query("looks", pipes)]).values()
    assert isinstance(started, Known)
    assert isinstance(looked, Known)
    asking, *found = looked.value
    assert {asking, started.value, session.greeting.pid} <= set(found)
    assert not {os.getpid(), 1} & set(found)


def test_a_query_that_hangs_keeps_no_other_from_its_answer(session: Session, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    hanging, others = Query("hangs", {"pid": str(pid)}), [Query("shares", {"n": n}) for n in range(3)]
    answers = session.ask([hanging, *others], timeout_s=0.8)
    assert answers[hanging] == Failed("no answer within 0.8 s")
    assert [answers[query] for query in others] == [Known(1), Known(2), Known(3)]
    wait_until(lambda: gone(int(pid.read_text())))


def test_more_hanging_queries_than_workers_end_too(session: Session, tmp_path: Path) -> None:
    queries = [Query("hangs", {"pid": str(tmp_path / str(n))}) for n in range(10)]
    answers = session.ask(queries, timeout_s=2.0)
    assert {type(answer) for answer in answers.values()} == {Failed}
    assert answers[queries[-1]] == Failed("not asked within 2 s: earlier questions hang")


def test_a_user_that_does_not_exist(session: Session) -> None:
    query = Query("who", {}, user="nobody-of-that-name")
    assert session.ask([query]) == {query: Failed("there is no user `nobody-of-that-name` on this node")}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else without sudo")
def test_root_asks_as_another_user(session: Session) -> None:
    query, own = Query("who", {}, user="nobody"), Query("who", {})
    answers = session.ask([query, own])
    assert answers[query] == Known(["nobody", "/nonexistent"])
    assert answers[own] == Known(["root", os.environ["HOME"]])


def test_a_request_that_nobody_knows_is_refused(session: Session) -> None:
    assert session._exchange({"dance": {}}) == {"id": 2, "error": "the node program does not know this request"}
    assert session._exchange({"watch": {"job": "../../etc"}})["error"].startswith("ValueError: not a job's name")


def test_the_program_ends_with_its_connection(session: Session) -> None:
    session.close()
    wait_until(lambda: gone(session.greeting.pid))


def test_many_hundred_answers_cost_one_round_trip(session: Session) -> None:
    before = session.round_trips
    answers = session.ask([Query("shares", {"n": n, "text": "x" * 5000}) for n in range(500)])
    assert len(answers) == 500
    assert session.round_trips == before + 1
    assert session.execs == 1
