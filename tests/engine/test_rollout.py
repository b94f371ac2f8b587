"""Waves, the limit of failures, and the operator's wish to stop, over fake nodes in real threads."""

import threading

import pytest

from stackplan.connection.failure import ConnectionLost, Locked, NodeProgramFailed, NodeProgramMissing, NodeUnreachable
from stackplan.connection.lock_owner import LockOwner
from stackplan.engine.execute import Execution
from stackplan.engine.exit_status import exit_status
from stackplan.engine.rollout import RollOut
from stackplan.engine.stop import Level
from stackplan.engine.waves import waves
from stackplan.model.event import NodeEnded, NodeStarted, StepEnded, StepStarted
from stackplan.model.job import Exited, Interrupted
from stackplan.model.outcome import NodeOutcome, Reason
from stackplan.model.playbook import Rollout, Share
from tests.engine.world import World, bound, sets, step

PATIENCE_S = 20.0


def world(command=None):
    return World({"torch": "old", "sglang": "old"}, {"torch": command or sets()("torch"), "sglang": sets()("sglang")})


def fails(world):
    return Exited(1)


BOOK = (step("torch"), step("sglang"))


@pytest.mark.parametrize(
    ("canary", "batch", "sizes"),
    [
        (None, None, [10]),
        (Share(count=1), None, [1, 9]),
        (Share(count=1), Share(percent=25.0), [1, 2, 2, 2, 2, 1]),
        (None, Share(count=4), [4, 4, 2]),
        (Share(percent=50.0), Share(percent=100.0), [5, 5]),
        (Share(percent=1.0), Share(percent=1.0), [1] * 10),
        (Share(count=99), Share(count=1), [10]),
    ],
)
def test_nodes_are_taken_in_waves_of_all_that_were_selected(canary, batch, sizes):
    taken = waves(range(10), Rollout(canary=canary, batch=batch))
    assert [len(wave) for wave in taken] == sizes
    assert [node for wave in taken for node in wave] == list(range(10))


def test_no_nodes_make_no_waves():
    assert waves([], Rollout(canary=Share(count=1), batch=Share(count=2))) == ()


def outcomes(report):
    return {node.node: node.outcome.value for node in report.nodes}


def test_a_canary_that_fails_keeps_the_others_from_starting(stage):
    run = stage(a=world(fails), b=world(), c=world())
    report = run.play(bound(*BOOK, rollout=Rollout(canary=Share(count=1))))
    assert outcomes(report) == {"a": "failed", "b": "skipped", "c": "skipped"}
    assert len(run.sessions) == 1
    assert report.nodes[1].message == "too many nodes had failed before its turn"
    assert [it.outcome.value for it in report.nodes[1].steps] == ["not-reached", "not-reached"]
    assert exit_status(report) == 3


def test_failures_are_counted_over_all_waves_unreachable_and_locked_nodes_among_them(stage):
    run = stage(a=world(fails), b=world(), c=world(), d=world(), e=world())
    run.refusals["b"] = [NodeUnreachable("no route", "is it up?")]
    owner = LockOwner(run="X", operator="eve", host="there", playbook="p", time="t")

    def held(word):
        if word == "lock":
            raise Locked(owner)

    run.faults["c"] = held
    report = run.play(bound(*BOOK, rollout=Rollout(batch=Share(count=1), max_failures=2)))
    assert outcomes(report) == {"a": "failed", "b": "unreachable", "c": "locked", "d": "skipped", "e": "skipped"}
    assert (report.nodes[1].message, report.nodes[1].remedy) == ("no route", "is it up?")
    assert "by run X of eve on there" in report.nodes[2].message
    assert exit_status(report) == 7
    assert [node.wave for node in report.nodes] == [1, 2, 3, None, None]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (NodeProgramFailed("no room for the lock"), "failed"),
        (ConnectionLost("cut"), "lost"),
        (NodeUnreachable("no route"), "lost"),
    ],
)
def test_a_node_that_cannot_be_locked_is_left_alone(stage, error, outcome):
    run = stage(a=world())

    def fault(word):
        if word == "lock":
            raise error

    run.faults["a"] = fault
    report = run.play(bound(*BOOK))
    assert (outcomes(report), report.nodes[0].message) == ({"a": outcome}, str(error))
    assert run.worlds["a"].asked == []


def test_as_many_failures_as_are_allowed_stop_nothing(stage):
    run = stage(a=world(fails), b=world())
    report = run.play(bound(*BOOK, rollout=Rollout(batch=Share(count=1), max_failures=1)))
    assert outcomes(report) == {"a": "failed", "b": "ok"}


def test_what_a_node_printed_instead_of_answering_is_in_its_message(stage):
    run = stage(a=world())
    run.refusals["a"] = [NodeProgramMissing("no Python", "install python3", printed="Welcome to BusyBox")]
    assert "Welcome to BusyBox" in run.play(bound(*BOOK)).nodes[0].message


def test_running_nodes_finish_the_step_they_are_in_when_too_many_failed(stage):
    running, failed = threading.Event(), threading.Event()

    def slow(world):
        running.set()
        assert failed.wait(PATIENCE_S)
        return sets()("torch")(world)

    def quick(world):
        assert running.wait(PATIENCE_S)
        return Exited(1)

    run = stage(a=world(slow), b=world(quick))
    run.parallel = 2
    run.on_event = lambda event: failed.set() if isinstance(event, NodeEnded) and event.node == "b" else None
    report = run.play(bound(*BOOK))
    assert outcomes(report) == {"a": "skipped", "b": "failed"}
    a = report.nodes[0]
    assert [it.outcome.value for it in a.steps] == ["changed", "not-reached"]
    assert (a.stopped_at, a.reason) == ("sglang", Reason.INTERRUPTED)
    assert a.message == "the rollout stopped before `sglang` started"
    assert exit_status(report) == 3


def test_nodes_run_side_by_side_but_no_more_than_are_allowed(stage):
    together = threading.Barrier(3, timeout=PATIENCE_S)
    at_once, most, guard = [0], [0], threading.Lock()

    def meet(world):
        with guard:
            at_once[0] += 1
            most[0] = max(most[0], at_once[0])
        together.wait()
        with guard:
            at_once[0] -= 1
        return sets()("torch")(world)

    run = stage(**{f"n{number}": world(meet) for number in range(6)})
    run.parallel = 3
    assert run.play(bound(*BOOK)).outcome is NodeOutcome.OK
    assert most[0] == 3


def test_the_first_wish_to_stop_lets_running_actions_finish(stage):
    run = stage(a=world(), b=world())
    run.on_event = lambda event: run.stop.request() if isinstance(event, StepStarted) else None
    report = run.play(bound(*BOOK))
    assert outcomes(report) == {"a": "interrupted", "b": "interrupted"}
    assert [it.outcome.value for it in report.nodes[0].steps] == ["changed", "not-reached"]
    assert report.nodes[0].message == "the operator stopped the run before `sglang` started"
    assert report.nodes[1].message == "the operator stopped the run before its turn"
    assert exit_status(report) == 130


def test_the_second_wish_to_stop_ends_running_jobs_on_their_nodes(stage):
    ended = threading.Event()

    def endless(world):
        return Interrupted()

    run = stage(a=world(endless))

    def fault(word):
        if word == "watching":
            run.stop.request()
            run.stop.request()
            assert ended.wait(PATIENCE_S), "nobody ended the job"
        if word == "terminate":
            ended.set()

    run.faults["a"] = fault
    report = run.play(bound(*BOOK))
    (node,) = report.nodes
    assert (node.outcome, node.stopped_at, node.reason) == (NodeOutcome.INTERRUPTED, "torch", Reason.INTERRUPTED)
    assert node.steps[0].conditions[0].observed == "old"
    assert set(run.sessions[0].terminated) == {"R.a.torch.1"}
    assert exit_status(report) == 130


def test_a_job_that_was_about_to_start_when_the_run_was_ended_is_ended_too(stage):
    run = stage(a=world(lambda world: Interrupted()))
    run.faults["a"] = lambda word: run.stop.request(Level.END) if word == "started" else None
    told = threading.Event()
    watching = run.faults["a"]

    def fault(word):
        watching(word)
        if word == "terminate":
            told.set()
        if word == "watching":
            assert told.wait(PATIENCE_S)

    run.faults["a"] = fault
    assert run.play(bound(*BOOK)).nodes[0].reason is Reason.INTERRUPTED


def test_nothing_starts_on_a_node_once_the_run_was_ended(stage):
    run = stage(a=world())
    run.on_event = lambda event: run.stop.request(Level.END) if isinstance(event, NodeStarted) else None
    report = run.play(bound(*BOOK))
    assert run.worlds["a"].starts == {}
    assert report.nodes[0].outcome is NodeOutcome.INTERRUPTED


def test_a_wish_to_stop_in_the_last_step_still_proves_everything(stage):
    run = stage(a=world())

    def on_event(event):
        if isinstance(event, StepStarted) and event.step == "sglang":
            run.stop.request()

    run.on_event = on_event
    assert run.play(bound(*BOOK)).outcome is NodeOutcome.OK


def test_a_retry_is_not_waited_for_when_the_run_stops(stage):
    run = stage(a=World({"torch": "old"}, {"torch": fails}))
    run.on_event = lambda event: run.stop.request() if isinstance(event, StepStarted) else None
    (node,) = run.play(bound(step("torch", retries=9))).nodes
    assert (node.reason, node.steps[0].action.attempts) == (Reason.ACTION, 1)


def test_a_screen_that_fails_does_not_fail_the_run(stage):
    run = stage(a=world())

    def on_event(event):
        raise BrokenPipeError("the terminal is gone")

    run.on_event = on_event
    report = run.play(bound(*BOOK))
    assert report.outcome is NodeOutcome.OK
    assert "the terminal is gone" in report.diagnoses[0].summary


def test_a_bug_on_one_node_costs_no_other_its_report(stage, monkeypatch, tmp_path):
    monkeypatch.setenv("STACKPLAN_STATE", str(tmp_path / "state"))
    run = stage(a=world(), b=world(), c=world())
    execute = Execution.execute

    def broken(self):
        if self.node.name == "b":
            raise ZeroDivisionError("a bug")
        return execute(self)

    monkeypatch.setattr("stackplan.engine.execute.Execution.execute", broken)
    report = run.play(bound(*BOOK, rollout=Rollout(max_failures=1)))
    assert outcomes(report) == {"a": "ok", "b": "failed", "c": "ok"}
    told = report.nodes[1]
    assert told.reason is Reason.BUG
    assert "a bug in stackplan itself ended this node (ZeroDivisionError: a bug)" in told.message
    assert "verify" in told.remedy
    (kept,) = (tmp_path / "state/bugs").iterdir()
    assert str(kept) in told.message
    assert "in broken" in kept.read_text()
    assert exit_status(report) == 1
    assert all(session.closed for session in run.sessions)


def test_a_node_that_never_comes_back_is_not_waited_for_once_the_run_was_ended(stage, monkeypatch):
    monkeypatch.setattr(RollOut, "END_PATIENCE_S", 0.0)
    monkeypatch.setattr("stackplan.engine.rollout._TURN_S", 0.3)
    run = stage(a=world(), b=world(), c=world())
    run.parallel = 2
    released = threading.Event()
    stuck = threading.Barrier(3)

    def endless(_):
        stuck.wait(PATIENCE_S)
        released.wait(PATIENCE_S)
        return Exited(0)

    for name in ("a", "b"):
        run.worlds[name].commands["torch"] = endless

    def operator():
        stuck.wait(PATIENCE_S)
        run.stop.request()
        run.stop.request()

    pressing = threading.Thread(target=operator)
    pressing.start()
    try:
        report = run.play(bound(*BOOK, rollout=Rollout(batch=Share(count=3))))
    finally:
        pressing.join(PATIENCE_S)
        released.set()
    assert outcomes(report) == {"a": "interrupted", "b": "interrupted", "c": "interrupted"}
    assert "did not come to an end in time; what runs there may go on" in report.nodes[0].message
    assert report.nodes[0].stopped_at == "torch"
    assert report.nodes[2].message == "the operator stopped the run before its turn"
    assert exit_status(report) == 130


def test_a_run_that_is_ended_while_the_node_is_away_was_interrupted(stage):
    run = stage(a=world())

    def fault(word):
        if word == "watching":
            run.refusals["a"] = [NodeUnreachable("no route")] * 9
            run.stop.request()
            run.stop.request()
            raise ConnectionLost("cut")

    run.faults["a"] = fault
    report = run.play(bound(*BOOK))
    (node,) = report.nodes
    assert (node.outcome, node.reason, node.stopped_at) == (NodeOutcome.INTERRUPTED, Reason.INTERRUPTED, "torch")
    assert "the operator ended the run while the node was away (cut); what runs there may go on" in node.message
    assert node.steps[0].reason is Reason.LOST
    assert exit_status(report) == 130


def test_a_run_that_is_ended_while_a_node_is_connected_to_was_interrupted(stage):
    run = stage(a=world())

    def refuse(node):
        run.stop.request(Level.END)
        raise NodeUnreachable("it did not answer within 15 s")

    run.connect = refuse
    report = run.play(bound(*BOOK))
    assert outcomes(report) == {"a": "interrupted"}
    assert "it did not answer within 15 s" in report.nodes[0].message
    assert exit_status(report) == 130


def test_every_session_is_closed_and_no_thread_is_left(stage):
    before = threading.active_count()
    run = stage(a=world(), b=world(fails))
    run.parallel = 2
    run.play(bound(*BOOK, rollout=Rollout(max_failures=5)))
    assert all(it.closed for it in run.sessions)
    for thread in threading.enumerate():
        if thread.name.startswith("stackplan-"):
            thread.join(PATIENCE_S)
    assert threading.active_count() == before


def test_events_of_a_node_come_in_order(stage):
    run = stage(a=world())
    run.play(bound(*BOOK))
    told = [(type(it).__name__, getattr(getattr(it, "step", None), "id", None)) for it in run.events]
    assert told == [
        ("RunStarted", None),
        ("NodeStarted", None),
        ("NodeProven", None),
        ("StepStarted", None),
        ("StepEnded", "torch"),
        ("StepStarted", None),
        ("StepEnded", "sglang"),
        ("NodeEnded", None),
    ]
    assert all(it.step.outcome.value == "changed" for it in run.events if isinstance(it, StepEnded))
