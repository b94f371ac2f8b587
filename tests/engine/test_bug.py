"""A fault of stackplan's own: it costs no other node its report, and the journal an end."""

import json
from pathlib import Path

import jsonschema
import pytest

from stackplan.connection.failure import NodeUnreachable
from stackplan.engine.apply import Setting, apply
from stackplan.engine.bug import keep_traceback
from stackplan.engine.clock import SystemClock
from stackplan.engine.consult import Survey
from stackplan.engine.exit_status import exit_status
from stackplan.engine.journal import read
from stackplan.engine.recorder import Recorder
from stackplan.engine.rollout import RollOut
from stackplan.engine.stop import Stop
from stackplan.engine.verify import verify
from stackplan.model.event import NodeStarted, RunEnded
from stackplan.model.outcome import NodeOutcome, Reason
from stackplan.model.report import NodeReport, PlaybookIdentity, Report
from stackplan.model.secret import Redactor
from stackplan.reports import json_document
from tests.engine.world import FakeClock, FakeSession, World, bound, step, target


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """The folder into which tracebacks go."""
    monkeypatch.setenv("STACKPLAN_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


def test_a_bug_on_one_node_leaves_the_others_their_verification(state):
    book = bound(step("torch"))

    def connect(node):
        if node.name == "c":
            raise NodeUnreachable("no route")
        fault = (lambda word: {}[word]) if node.name == "b" else (lambda word: None)
        return FakeSession(World({"torch": "new"}), fault)

    report = verify([target(name, book) for name in "abc"], connect, Survey(redactor=Redactor(), clock=FakeClock()))
    assert [node.outcome.value for node in report.nodes] == ["ok", "failed", "unreachable"]
    told = report.nodes[1]
    assert told.reason is Reason.BUG
    assert "a bug in stackplan itself ended this node (KeyError: 'ask')" in told.message
    (kept,) = (state / "bugs").iterdir()
    assert str(kept) in told.message
    assert exit_status(report) == 1
    schema = json.loads((Path(__file__).parents[2] / "schemas/report.v1.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads(json_document.render(report)), schema)


def test_the_journal_of_a_run_ends_even_where_the_rollout_itself_breaks(tmp_path, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(RollOut, "roll_out", broken)
    setting = Setting(state=tmp_path, redactor=Redactor(), operator="ops", clock=SystemClock(), stop=Stop())
    with pytest.raises(ZeroDivisionError, match="a bug"):
        apply([target("a", bound(step("torch")))], lambda node: FakeSession(World({})), setting)
    (path,) = (tmp_path / "runs").glob("*/events.jsonl")
    assert isinstance(read(path)[-1], RunEnded)


def test_two_bugs_in_one_second_have_a_file_each(state):
    told = {keep_traceback(ValueError(text)) for text in ("one", "two")}
    assert len(told) == 2
    kept = sorted(path.read_text() for path in (state / "bugs").iterdir())
    assert kept == ["ValueError: one\n", "ValueError: two\n"]


def test_a_bug_whose_traceback_cannot_be_kept_is_shown(state):
    state.write_text("")
    assert keep_traceback(ValueError("one")).endswith("ValueError: one\n")


def test_what_comes_after_the_end_of_a_run_is_not_recorded():
    told = []
    recorder = Recorder(Redactor(), on_event=told.append)
    recorder.end()
    event = NodeStarted(node="a", wave=1, steps=(), time="2026-12-01T03:10:22Z")
    assert recorder.record(event) == "the run has ended"
    assert told == []


def test_a_bug_goes_before_every_other_exit_status():
    nodes = (
        NodeReport(node="a", outcome=NodeOutcome.INTERRUPTED),
        NodeReport(node="b", outcome=NodeOutcome.FAILED, reason=Reason.BUG),
    )
    identity = PlaybookIdentity(name="p", path="p", sha256="0")
    assert exit_status(Report(command="apply", outcome=NodeOutcome.INTERRUPTED, playbook=identity, nodes=nodes)) == 1
