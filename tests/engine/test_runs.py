"""The list of runs: what a line tells of each kind of journal, and which run is meant by a word."""

import fcntl
import json
import os

import pytest

from stackplan.engine import runs
from stackplan.engine.journal import FORMAT, Journal, goes_on, journal_path
from stackplan.engine.runs import find_run, run_ids, run_line, run_lines
from stackplan.model.diagnosis import Invalid
from stackplan.model.event import NodeEnded, OutputSeen, RunEnded, RunResumed, RunStarted
from stackplan.model.outcome import NodeOutcome
from stackplan.model.report import NodeReport, PlaybookIdentity
from stackplan.model.run_line import RunState

RUN = "20261201T031022Z-4f2a"
BOOK = PlaybookIdentity(name="cuda13", path="playbooks/cuda13.yaml", sha256="0" * 64, revision="abc123")
BEGUN = RunStarted(
    run=RUN, command="apply", playbook=BOOK, nodes=("a", "b"), steps=("torch",), time="T0", operator="ops", host="desk"
)
STOPPED = NodeEnded(
    node="a", outcome=NodeOutcome.FAILED, report=NodeReport(node="a", outcome=NodeOutcome.FAILED), time="T1",
    stopped_at="torch",
)  # fmt: skip
ENDED = RunEnded(run=RUN, outcome=NodeOutcome.FAILED, time="T2", stopped_at=("torch",))
RESUMED = RunResumed(run=RUN, nodes=("a",), time="T3", operator="eve")


@pytest.fixture
def write(tmp_path):
    """Write a journal of these events, its controller gone, and return its path."""

    def written(*events, run=RUN):
        journal = Journal(journal_path(tmp_path, run))
        for event in events:
            journal.append(event)
        journal.close()
        return journal.path

    return written


def test_a_run_that_ended_is_told_in_a_line(write):
    line = run_line(write(BEGUN, STOPPED, ENDED), RUN)
    assert (line.state, line.outcome, line.stopped_at) == (RunState.ENDED, NodeOutcome.FAILED, ("torch",))
    assert (line.started, line.ended, line.operator, line.host) == ("T0", "T2", "ops", "desk")
    assert (line.playbook, line.revision, line.nodes, line.command) == ("cuda13", "abc123", ("a", "b"), "apply")


def test_where_an_older_journal_stopped_is_read_from_its_nodes(write):
    ended = RunEnded(run=RUN, outcome=NodeOutcome.FAILED, time="T2")
    assert run_line(write(BEGUN, STOPPED, ended), RUN).stopped_at == ("torch",)


@pytest.mark.parametrize("events", [(BEGUN,), (BEGUN, STOPPED), (BEGUN, STOPPED, ENDED, RESUMED)])
def test_a_run_without_an_end_goes_on_or_was_cut_off(tmp_path, events):
    path = journal_path(tmp_path, RUN)
    journal = Journal(path)
    for event in events:
        journal.append(event)
    line = run_line(path, RUN)
    assert (line.state, line.outcome, line.ended) == (RunState.RUNNING, None, None)
    journal.close()
    assert run_line(path, RUN).state is RunState.CUT_OFF


def test_a_look_at_a_journal_takes_nothing_from_its_controller(tmp_path):
    journal = Journal(journal_path(tmp_path, RUN))
    assert goes_on(journal.path)
    assert goes_on(journal.path)
    journal.close()
    assert not goes_on(journal.path)
    descriptor = os.open(journal.path, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(descriptor)


def test_a_journal_torn_at_any_byte_is_a_line_and_never_an_error(write):
    path = write(BEGUN, STOPPED, ENDED)
    whole = path.read_bytes()
    lines = whole.split(b"\n")
    begun_at = len(lines[0]) + len(lines[1]) + 2
    for cut in sorted({*range(0, len(whole), 13), begun_at - 1, begun_at, len(whole) - 1}):
        path.write_bytes(whole[:cut])
        expected = RunState.UNREADABLE if cut < begun_at else RunState.CUT_OFF
        assert run_line(path, RUN).state is expected, cut


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b'{"format":"stackplan.journal/9"}\n{}\n', "does not name the format"),
        (b"no journal at all\n", "damaged"),
        (b"x" * 200_000, "does not name the format"),
        (b"[" * 60_000 + b"\n", "damaged"),
        (json.dumps({"format": FORMAT}).encode() + b'\n{"event":"RunEnded"}\n', "`run` is missing in an object"),
        (json.dumps({"format": FORMAT}).encode() + b'\n{"event":"SomethingNew"}\n', "does not begin with the start"),
        (json.dumps({"format": FORMAT}).encode() + b"\n\xff\xfe\n", "damaged"),
        (b"", "does not say yet"),
    ],
)
def test_what_is_no_journal_says_why_and_costs_no_other_run_its_line(tmp_path, write, content, why):
    write(BEGUN, ENDED)
    other = journal_path(tmp_path, "20261201T031023Z-0000")
    other.parent.mkdir(parents=True)
    other.write_bytes(content)
    first, second = run_lines(tmp_path, run_ids(tmp_path))
    assert (first.state, second.state) == (RunState.UNREADABLE, RunState.ENDED)
    assert why in first.why


def test_a_folder_without_a_journal_is_told_as_such(tmp_path):
    (tmp_path / "runs" / RUN).mkdir(parents=True)
    (line,) = run_lines(tmp_path, run_ids(tmp_path))
    assert line.state is RunState.UNREADABLE
    assert "No such file" in line.why


def test_of_a_long_journal_only_both_ends_are_read(write):
    """A hole of a terabyte, which nobody can read, stands for what a run printed."""
    path = write(BEGUN)
    with path.open("r+b") as file:
        file.seek(1 << 40)
        file.write(b"\n")
    journal = path.open("ab")
    journal.write(json.dumps({"event": "RunEnded", "run": RUN, "outcome": "ok", "time": "T9"}).encode() + b"\n")
    journal.close()
    line = run_line(path, RUN)
    assert line.nodes == ("a", "b")
    # Not as the journal writes it (there is a blank after the colon), so that it is not taken for an end.
    assert line.state is RunState.CUT_OFF
    with path.open("ab") as file:
        file.write(b'{"event":"RunEnded","run":"R","outcome":"ok","time":"T9"}\n')
    assert run_line(path, RUN).ended == "T9"


def test_an_end_longer_than_the_window_is_found(write, monkeypatch):
    monkeypatch.setattr(runs, "_TAIL", 16)
    assert run_line(write(BEGUN, OutputSeen(node="a", step="torch", text="x" * 5000, time="T1"), ENDED), RUN).ended


IDS = ("20261201T031022Z-4f2a", "20261201T031022Z-77bb", "20261202T110000Z-4f1c")


@pytest.fixture
def state(tmp_path, write):
    for run in IDS:
        write(BEGUN, run=run)
    return tmp_path


@pytest.mark.parametrize(
    ("word", "run"), [("last", IDS[2]), ("4f2a", IDS[0]), (IDS[1], IDS[1]), ("20261202", IDS[2]), ("77", IDS[1])]
)
def test_a_run_is_found_by_its_id_or_a_part_of_it(state, word, run):
    assert find_run(state, word) == run


def test_runs_are_listed_newest_first(state):
    assert run_ids(state) == tuple(reversed(IDS))


@pytest.mark.parametrize(
    ("word", "summary", "remedy"),
    [
        ("4f", "`4f` stands for 2 runs", "more of the id"),
        ("20261201T031022Z", "stands for 2 runs", "more of the id"),
        ("4f2b", "no run `4f2b`", f"did you mean `{IDS[0]}`"),
        ("20261201T031022Z-77bc", "no run", f"`{IDS[1]}`"),
        ("xyz", "no run `xyz`", "`stackplan runs` lists them"),
        ("", "no run ``", "`stackplan runs` lists them"),
        ("../runs", "no run", "`stackplan runs` lists them"),
    ],
)
def test_a_word_that_names_no_run_says_which_may_be_meant(state, word, summary, remedy):
    with pytest.raises(Invalid, match=summary) as caught:
        find_run(state, word)
    assert remedy in caught.value.diagnoses[0].remedy


def test_without_any_run_the_folder_is_named(tmp_path):
    assert run_ids(tmp_path / "none") == ()
    with pytest.raises(Invalid, match="there is no run in"):
        find_run(tmp_path / "none", "last")


def test_a_folder_that_cannot_be_read_is_an_error_with_words(tmp_path):
    (tmp_path / "runs").write_text("")
    with pytest.raises(Invalid, match="cannot read the runs"):
        run_ids(tmp_path)
