"""What a run tells the nodes that it takes, and what a node's entries amount to."""

import pytest

from stackplan.connection.failure import ConnectionLost, Locked
from stackplan.engine.history import past_runs
from stackplan.engine.remember import ENTRIES, remember, told
from stackplan.model.diagnosis import Severity
from stackplan.model.facts import Failed, Known, Query, Unknown
from stackplan.model.history import NodeHistory
from stackplan.model.node import Node
from stackplan.model.outcome import NodeOutcome
from stackplan.node import history as on_node
from tests.engine.world import FakeClock, FakeStop, Stage, World, bound, sets, step

STEPS = (step("torch"), step("sglang"))


def stage(*names, **commands):
    clock = FakeClock()
    values = {"torch": "old", "sglang": "old"}
    told = {"torch": sets()("torch"), "sglang": sets()("sglang"), **commands}
    return Stage({name: World(dict(values), dict(told)) for name in names or ("a",)}, clock, FakeStop(clock))


def began(run="R", node="a", **more):
    playbook = {"name": "cuda13", "path": "p.yaml", "sha256": "0" * 64, "revision": "abc"}
    return {"entry": "began", "run": run, "node": node, "time": "T1", "playbook": playbook, "operator": "ops",
            "host": "desk", **more}  # fmt: skip


def ended(run="R", node="a", **more):
    return {"entry": "ended", "run": run, "node": node, "time": "T2", "outcome": "ok", "stopped_at": None,
            "reason": None, "steps": {"torch": "changed"}, **more}  # fmt: skip


def test_a_run_tells_the_node_when_it_takes_it_and_when_it_leaves_it(kinds):
    run = stage("a", "b")
    assert run.play(bound(*STEPS)).outcome is NodeOutcome.OK
    for name, world in run.worlds.items():
        first, last = world.history
        assert (first["entry"], first["run"], first["node"], first["operator"]) == ("began", "R", name, "ops")
        assert first["playbook"] == {"name": "story", "path": "playbook.yaml", "sha256": "0" * 64, "revision": None}
        assert (last["entry"], last["outcome"], last["stopped_at"]) == ("ended", "ok", None)
        assert last["steps"] == {"torch": "changed", "sglang": "changed"}


def test_a_stop_is_told_with_its_reason(kinds):
    run = stage("a", sglang=sets("old")("sglang"))
    run.play(bound(*STEPS))
    (past,), useless = past_runs(run.worlds["a"].history)
    assert (past.outcome, past.stopped_at, past.reason, useless) == ("failed", "sglang", "no-op", 0)
    assert dict(past.steps) == {"torch": "changed", "sglang": "failed"}


def test_a_node_that_another_run_holds_is_told_nothing(kinds):
    run = stage("a")

    def locked(word):
        if word == "lock":
            raise Locked(None)

    run.faults["a"] = locked
    run.play(bound(*STEPS))
    assert run.worlds["a"].history == []


def test_a_history_that_cannot_be_written_is_a_note_and_fails_nothing(kinds):
    run = stage("a")
    run.worlds["a"].history = None
    (node,) = run.play(bound(*STEPS)).nodes
    assert node.outcome is NodeOutcome.OK
    (note,) = node.diagnoses
    assert note.severity is Severity.NOTE
    assert "the disk is full" in note.summary


def test_a_connection_that_drops_at_the_very_end_is_not_waited_for(kinds):
    run = stage("a")

    def cut(word):
        if word == "record":
            raise ConnectionLost("cut")

    run.faults["a"] = cut
    (node,) = run.play(bound(*STEPS)).nodes
    assert (node.outcome, len(node.diagnoses), run.stop.waited) == (NodeOutcome.OK, 1, [])
    assert len(run.sessions) == 1
    (past,), _ = past_runs(run.worlds["a"].history)
    assert past.ended is None


def test_a_node_that_is_lost_says_so_and_not_what_its_history_lacks(kinds):
    run = stage("a")
    connected = []

    def cut(word):
        connected.append(word)
        if word != "lock":
            raise ConnectionLost("cut")

    run.faults["a"] = cut
    (node,) = run.play(bound(*STEPS)).nodes
    assert (node.outcome, node.diagnoses) == (NodeOutcome.LOST, ())


def test_a_reconnection_is_no_second_beginning(kinds):
    run = stage("a")
    cuts = []

    def cut_once(word):
        if word == "watch" and not cuts:
            cuts.append(word)
            raise ConnectionLost("cut")

    run.faults["a"] = cut_once
    assert run.play(bound(*STEPS)).outcome is NodeOutcome.OK
    assert len(run.sessions) == 2
    assert [entry["entry"] for entry in run.worlds["a"].history] == ["began", "ended"]


def test_the_order_is_that_of_the_entries_whatever_the_clocks_said():
    entries = [began("X", time="2030-01-01T00:00:00Z"), ended("X"), began("Y", time="2020-01-01T00:00:00Z")]
    found, _ = past_runs(entries)
    assert [(past.run, past.ended) for past in found] == [("Y", None), ("X", "T2")]


def test_a_run_that_took_the_node_again_has_no_end_until_it_is_told_anew():
    entries = [began(), ended(outcome="failed", stopped_at="torch"), began(time="T3")]
    (past,), _ = past_runs(entries)
    assert (past.taken, past.began, past.ended, past.outcome) == (2, "T1", None, None)
    (past,), _ = past_runs([*entries, ended(time="T4")])
    assert (past.taken, past.ended, past.outcome, past.stopped_at) == (2, "T4", "ok", None)


def test_two_controllers_and_two_names_are_runs_of_their_own():
    entries = [began("X"), began("Y"), began("X", "other"), ended("Y"), ended("X"), ended("X", "other")]
    found, _ = past_runs(entries)
    assert [(past.run, past.node, past.ended) for past in found] == [
        ("X", "other", "T2"),
        ("Y", "a", "T2"),
        ("X", "a", "T2"),
    ]


@pytest.mark.parametrize(
    "entry",
    [None, 3, [], {}, {"entry": "began"}, began(playbook=None), began(playbook={"name": 1}), began(operator=7),
     began(entry="danced"), {**began(), "run": ["x"]}],
)  # fmt: skip
def test_what_says_nothing_of_use_is_counted_and_costs_nothing_else(entry):
    found, useless = past_runs([began("X"), entry, ended("X")])
    assert ([past.run for past in found], found[0].ended, useless) == (["X"], "T2", 1)


def test_an_end_whose_beginning_was_cut_away_is_passed_over():
    assert past_runs([ended("X"), began("Y")])[1] == 0


def test_an_answer_of_a_node_becomes_its_history():
    answer = Known({"entries": [began(), 7], "unreadable": 2})
    assert told("a", answer).unreadable == 3
    running = Known({"entries": [began("X"), began("Y"), ended("Y"), began("Z")], "unreadable": 0, "held_by": "Z"})
    assert [(it.run, it.going_on) for it in told("a", running).runs] == [("Z", True), ("Y", False), ("X", False)]
    assert told("a", Known("nonsense")) == NodeHistory(node="a")
    assert told("a", Failed("no right")).why_not == "no right"
    assert told("a", Unknown("too old")).why_not == "too old"


def test_nodes_are_asked_each_by_itself(kinds):
    closed = []

    class Asked:
        def __init__(self, node):
            self.node = node

        def ask(self, queries):
            if self.node == "b":
                raise ConnectionLost("cut")
            return {query: Known({"entries": [began()], "unreadable": 0}) for query in queries}

        def close(self):
            closed.append(self.node)

    found = remember((Node(name="a"), Node(name="b")), lambda node: Asked(node.name), 2)
    assert list(found) == ["a", "b"]
    assert found["a"].runs[0].run == "R"
    assert isinstance(found["b"], ConnectionLost)
    assert sorted(closed) == ["a", "b"]
    assert Query("history", {"most": ENTRIES}).arguments["most"] >= on_node.KEPT + on_node.SLACK
