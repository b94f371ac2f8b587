"""The journal on disk, and that what is read back folds to the same report."""

import contextlib
import errno
import os
import stat
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackplan.connection.failure import NodeUnreachable
from stackplan.engine import journal as journal_module
from stackplan.engine.encoding import decode, encode
from stackplan.engine.exit_status import exit_status
from stackplan.engine.fold import fold
from stackplan.engine.journal import Journal, ResumedJournal, goes_on, journal_path, read, read_head
from stackplan.engine.recorder import Recorder
from stackplan.engine.runs import run_line
from stackplan.model.diagnosis import Invalid
from stackplan.model.event import NodeStarted, OutputSeen, RunEnded, RunStarted, StepEnded, StepStarted
from stackplan.model.outcome import NodeOutcome, Reason, StepOutcome
from stackplan.model.report import ActionReport, PlaybookIdentity, StepReport
from stackplan.model.run_line import RunState
from stackplan.model.secret import Redactor
from tests.engine.world import FakeClock, FakeStop, Stage, World, bound, condition, sets, step

STEPS = (step("torch"), step("sglang"))
IDENTITY = PlaybookIdentity(name="story", path="playbook.yaml", sha256="0" * 64)
BEGUN = RunStarted(
    run="R", command="apply", playbook=IDENTITY, nodes=("a",), steps=("torch", "sglang"), time="T", operator="ops"
)
ENDED = RunEnded(run="R", outcome=NodeOutcome.OK, time="T")


def story():
    """A run with a regression, an unreachable node, output, and a precondition."""
    run = Stage(
        {
            "a": World(
                {"torch": "old", "sglang": "old", "gpu": "free"},
                {"torch": sets()("torch"), "sglang": sets(torch="old")("sglang")},
                prints="näh\n".encode(),
            ),
            "b": World({"torch": "old", "sglang": "old", "gpu": "free"}),
        },
        clock := FakeClock(),
        FakeStop(clock),
    )
    run.refusals["b"] = [NodeUnreachable("no route", "is it up?")]
    return run


BOOK = {"preconditions": (condition("is", name="gpu", value="free"),)}


@pytest.fixture
def path(tmp_path):
    return journal_path(tmp_path / "state", "20261201T031022Z-4f2a")


def test_the_journal_is_the_owners_alone(path):
    Journal(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for folder in (path.parent, path.parent.parent, path.parent.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert path.parent.name == "20261201T031022Z-4f2a"


def test_a_journal_folds_to_the_report_of_the_run(path, kinds):
    run = story()
    run.journal = Journal(path)
    report = run.play(bound(*STEPS, **BOOK))
    run.journal.close()
    assert report.nodes[0].reason is Reason.REGRESSION
    assert fold(read(path)) == report
    assert read(path) == tuple(run.events)


def test_a_journal_that_is_torn_anywhere_reads_as_the_events_before(path, kinds):
    run = story()
    run.journal = Journal(path)
    run.play(bound(*STEPS, **BOOK))
    run.journal.close()
    whole, events = path.read_bytes(), read(path)
    ends = [index for index, byte in enumerate(whole) if byte == 10]
    for cut in {*range(0, len(whole), 97), *ends, *(end + 1 for end in ends)}:
        path.write_bytes(whole[:cut])
        found = read(path)
        assert found == events[: max(0, whole[:cut].count(b"\n") - 1)]
        if found:
            assert {it.node for it in fold(found).nodes} == {"a", "b"}


def test_a_run_that_was_killed_while_a_step_ran_says_so(path, kinds):
    run = story()
    run.play(bound(*STEPS, **BOOK))
    index = next(number for number, event in enumerate(run.events) if isinstance(event, StepStarted))
    report = fold(run.events[: index + 1])
    a, b = report.nodes
    assert (a.outcome, a.stopped_at, a.reason) == (NodeOutcome.LOST, "torch", Reason.LOST)
    assert a.steps[0].action.command == "set torch"
    assert (b.outcome, a.steps[1].outcome.value) == (NodeOutcome.SKIPPED, "not-reached")
    between = fold(run.events[: index - 1])
    assert between.nodes[0].outcome is NodeOutcome.INTERRUPTED


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (b'{"format":"stackplan.journal/1"}\nnot json\n{}\n', "the journal is damaged"),
        (b'{"format":"stackplan.journal/1"}\n{}\n', "not an event"),
        (b'{"format":"stackplan.journal/1"}\n{"event":"RunEnded"}\n', "`run` is missing in an object with `event`"),
        (
            b'{"format":"stackplan.journal/1"}\n{"event":"RunEnded","run":1,"outcome":"ok","time":""}\n',
            "a text is expected, not 1",
        ),
        (
            b'{"format":"stackplan.journal/1"}\n{"event":"RunEnded","run":"","outcome":"fine","time":""}\n',
            '"fine" is none of ok, pending',
        ),
        (b'{"format":"stackplan.journal/9"}\n', "does not name the format"),
        (b"[" * 100_000 + b"\n", "the journal is damaged"),
        (b"\xff\xfe\n", "the journal is damaged"),
    ],
)
def test_a_journal_that_is_damaged_in_the_middle_says_where(tmp_path, text, match):
    path = tmp_path / "events.jsonl"
    path.write_bytes(text)
    with pytest.raises(Invalid, match=match) as raised:
        read(path)
    assert raised.value.diagnoses[0].at.path == str(path)


def test_events_of_a_later_version_are_passed_over(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"format":"stackplan.journal/1"}\n{"event":"Slept","node":"a"}\n')
    assert read(path) == ()


def test_a_journal_that_is_not_there_says_so(tmp_path):
    with pytest.raises(Invalid, match="cannot read the journal"):
        read(tmp_path / "none.jsonl")


def test_a_run_does_not_write_over_another(path):
    Journal(path).close()
    with pytest.raises(Invalid, match="cannot write"):
        Journal(path)


def test_a_state_folder_that_is_a_file_is_named(tmp_path):
    (tmp_path / "state").write_text("")
    with pytest.raises(Invalid, match="cannot write") as raised:
        Journal(journal_path(tmp_path / "state", "R"))
    assert "STACKPLAN_STATE" in raised.value.diagnoses[0].remedy


def full_after(monkeypatch, count):
    """A disk that takes `count` more writes, then half a line, then nothing."""
    true_write, left = os.write, [count]

    def write(descriptor, data):
        if left[0] > 0:
            left[0] -= 1
            return true_write(descriptor, data)
        if left[0] == 0:
            left[0] -= 1
            return true_write(descriptor, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(journal_module.os, "write", write)


def test_a_disk_that_fills_up_stops_before_the_next_action_and_loses_no_line(path, kinds, monkeypatch):
    world = World({"torch": "old", "sglang": "old"}, {"torch": sets()("torch")})
    run = Stage({"a": world}, clock := FakeClock(), FakeStop(clock))
    run.journal = Journal(path)
    run.on_event = lambda event: full_after(monkeypatch, 0) if isinstance(event, StepStarted) else None
    report = run.play(bound(*STEPS))
    run.journal.close()
    assert world.starts == {"R.a.torch.1": 1}
    (node,) = report.nodes
    assert (node.stopped_at, node.reason) == ("sglang", Reason.ACTION)
    assert "No space left on device" in node.message
    assert "`stackplan resume R` goes on when there is room" in node.remedy
    assert "make room there" in report.diagnoses[0].remedy
    assert [type(it).__name__ for it in read(path)] == ["RunStarted", "NodeStarted", "NodeProven", "StepStarted"]


def test_what_could_not_be_written_goes_ahead_of_what_is_written_next(path, monkeypatch):
    journal = Journal(path)
    recorder = Recorder(Redactor(), journal)
    recorder.record(BEGUN)
    full_after(monkeypatch, 0)
    started = NodeStarted(node="a", wave=1, steps=("torch",), time="T")
    assert "No space left" in recorder.record(started)
    recorder.record(OutputSeen(node="a", step="torch", text="lost", time="T"))
    assert "No space left" in recorder.why_unwritten
    assert recorder.report().outcome is not NodeOutcome.OK
    monkeypatch.undo()
    assert recorder.record(ENDED) is None
    assert recorder.why_unwritten is None
    journal.close()
    assert read(path) == (BEGUN, started, ENDED)


def test_a_run_whose_end_is_not_in_its_journal_did_not_go_well(path, monkeypatch):
    journal = Journal(path)
    recorder = Recorder(Redactor(), journal)
    recorder.record(replace(BEGUN, nodes=()))
    assert recorder.report().outcome is NodeOutcome.OK
    full_after(monkeypatch, 0)
    recorder.record(ENDED)
    assert (recorder.report().outcome, exit_status(recorder.report())) == (NodeOutcome.FAILED, 3)
    journal.close()


def test_a_line_that_could_not_even_be_cut_off_is_cut_off_before_the_next(path, monkeypatch):
    journal = Journal(path)

    def fails(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    full_after(monkeypatch, 0)
    monkeypatch.setattr(journal_module.os, "ftruncate", fails)
    for _ in range(2):
        with pytest.raises(OSError, match=r"No space left|Input/output error"):
            journal.append(BEGUN)
    monkeypatch.undo()
    journal.append(BEGUN)
    journal.close()
    assert read(path) == (BEGUN,)


def test_a_step_without_an_end_is_never_told_as_one_that_was_not_reached():
    """A journal with a hole, as an older version left them on a full disk."""
    action = ActionReport(kind="set")
    begun = [StepStarted(node="a", step=it, action=action, time="T") for it in ("torch", "sglang")]
    done = StepEnded(node="a", step=StepReport(id="sglang", outcome=StepOutcome.CHANGED), time="T")
    node = NodeStarted(node="a", wave=1, steps=("torch", "sglang"), time="T")
    report = fold((BEGUN, node, *begun, done))
    assert [it.outcome for it in report.nodes[0].steps] == [StepOutcome.UNKNOWN, StepOutcome.CHANGED]
    assert "its end is not in the journal" in report.nodes[0].steps[0].message


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_file_is_no_journal_and_holds_nobody_up(path, make):
    path.parent.mkdir(parents=True)
    make(path)
    with pytest.raises(Invalid, match="cannot read the journal"):
        read(path)
    assert not goes_on(path)
    with pytest.raises(Invalid, match="cannot write"):
        ResumedJournal(path)
    line = run_line(path, path.parent.name)
    assert (line.state, "not a plain file" in line.why) == (RunState.UNREADABLE, True)


def test_the_journal_of_another_run_is_not_gone_on_with(tmp_path):
    path = journal_path(tmp_path, "OTHER")
    journal = Journal(path)
    journal.append(BEGUN)
    journal.close()
    before = path.read_bytes()
    with pytest.raises(Invalid, match="the journal in the folder of run OTHER is of run R"):
        ResumedJournal(path)
    assert path.read_bytes() == before
    assert run_line(path, "OTHER").why == "its journal is of run R"


def test_of_a_damaged_journal_the_head_is_told(path):
    journal = Journal(path)
    for event in (BEGUN, ENDED):
        journal.append(event)
    journal.close()
    first, second, third, _ = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join((first, second, b"x" * 20, third, b"")))
    events, damage = read_head(path)
    assert (events, damage.at.line) == ((BEGUN,), 3)


def test_the_journal_keeps_the_head_of_the_output_and_the_screen_sees_it_all(path):
    journal = Journal(path)
    seen = []
    recorder = Recorder(Redactor(), journal, seen.append)
    for _ in range(100):
        recorder.record(OutputSeen(node="a", step="torch", text="x" * 10_000, time=""))
    journal.close()
    assert len(seen) == 100
    assert 200_000 < path.stat().st_size < 400_000


def test_what_is_journalled_is_redacted(path):
    journal = Journal(path)
    action = ActionReport(kind="run", command="login hunter2secret")
    Recorder(Redactor(frozenset({"hunter2secret"})), journal).record(
        StepStarted(node="a", step="login", action=action, time="")
    )
    journal.close()
    assert b"hunter2secret" not in path.read_bytes()
    assert b"login ***" in path.read_bytes()


texts = st.text(max_size=20)


@settings(max_examples=40)
@given(run=texts, command=texts, nodes=st.lists(texts, max_size=3), revision=st.none() | texts)
def test_an_event_survives_its_encoding(run, command, nodes, revision):
    identity = PlaybookIdentity(name=run, path=command, sha256="", revision=revision)
    event = RunStarted(
        run=run, command=command, playbook=identity, nodes=tuple(nodes), steps=(), time="", operator=command
    )
    assert decode(encode(event)) == event


json_data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=10,
)


@settings(max_examples=40)
@given(
    kind=st.sampled_from(["RunStarted", "StepEnded", "NodeEnded", "OutputSeen"]),
    data=st.dictionaries(
        st.sampled_from(["node", "step", "time", "report", "playbook", "nodes", "outcome", "run", "text"]), json_data
    ),
)
def test_any_data_is_an_event_or_a_value_error(kind, data):
    with contextlib.suppress(ValueError):
        assert type(decode({"event": kind, **data})).__name__ == kind
