"""Forecasts: what would become of each step, from facts as they are now."""

import pytest

from stackplan.connection.failure import ConnectionLost, NodeUnreachable
from stackplan.engine.consult import Survey
from stackplan.engine.exit_status import exit_status
from stackplan.engine.plan import plan, plan_recorded
from stackplan.engine.planner import Planner, drive
from stackplan.model.facts import Facts, Known, Origin, Unknown
from stackplan.model.outcome import NodeOutcome, Reason
from stackplan.model.playbook import Rollout, Share
from stackplan.model.secret import Redactor
from tests.engine.world import FakeClock, FakeSession, World, bound, condition, sets, step, target


def foretell(values, *steps, **rest):
    """Return the report of a plan on a node with these values."""
    planner = Planner(node="gpu", playbook=bound(*steps, **rest), origin=Origin.RECORDED, taken="")
    world = World(values)
    return drive(planner, lambda queries: {query: world.answer(query) for query in queries}).report


def outcomes(report):
    return {it.id: it.outcome.value for it in report.steps}


OLD = {"torch": "old", "sglang": "old", "disk": "full"}
FREE = [condition("is", name="disk", value="free")]


@pytest.mark.parametrize(
    ("values", "steps", "expected", "outcome"),
    [
        ({"torch": "new"}, [step("torch")], {"torch": "satisfied"}, NodeOutcome.OK),
        ({"torch": "new"}, [step("torch", always=True)], {"torch": "would-run"}, NodeOutcome.PENDING),
        ({"torch": "old"}, [step("torch")], {"torch": "would-change"}, NodeOutcome.PENDING),
        ({"torch": "old"}, [step("torch", action="script")], {"torch": "would-run"}, NodeOutcome.PENDING),
        ({"torch": Unknown("no venv")}, [step("torch")], {"torch": "would-change"}, NodeOutcome.PENDING),
        (OLD, [step("torch", pre=FREE)], {"torch": "would-fail"}, NodeOutcome.FAILED),
        (OLD, [step("sglang"), step("torch", pre=FREE)], {"sglang": "would-change", "torch": "unknown"}, None),
        ({**OLD, "disk": Unknown("?")}, [step("torch", pre=FREE)], {"torch": "unknown"}, NodeOutcome.PENDING),
        (OLD, [step("torch", refused=True)], {"torch": "would-fail"}, NodeOutcome.FAILED),
        (OLD, [step("sglang"), step("torch", refused=True)], {"sglang": "would-change", "torch": "unknown"}, None),
        (OLD, [step("torch", refused=True), step("sglang")], {"torch": "would-fail", "sglang": "unknown"}, None),
        (OLD, [step("torch", action="look")], {"torch": "would-fail"}, NodeOutcome.FAILED),
        (OLD, [step("sglang"), step("torch", action="look")], {"sglang": "would-change", "torch": "unknown"}, None),
        ({"torch": Unknown("?")}, [step("torch", action="look")], {"torch": "unknown"}, NodeOutcome.PENDING),
        ({"torch": "new"}, [step("torch", action="look", always=True)], {"torch": "satisfied"}, NodeOutcome.OK),
    ],
)
def test_forecasts(values, steps, expected, outcome):
    report = foretell(values, *steps)
    assert outcomes(report) == expected
    assert outcome is None or report.outcome is outcome


def test_what_may_still_come_true_is_not_said_to_fail():
    waits = [condition("is", name="disk", value="free", within_s=60.0)]
    assert outcomes(foretell(OLD, step("torch", pre=waits))) == {"torch": "unknown"}


def test_a_forecast_says_which_command_would_run_and_what_holds_now():
    (torch,) = foretell(OLD, step("torch")).steps
    assert torch.action.command == "set torch"
    assert [(it.text, it.status.value) for it in torch.conditions] == [("torch is new", "not-held")]


def test_a_forecast_of_failure_says_why_and_what_mends_it():
    report = foretell(OLD, step("torch", refused=True))
    assert (report.stopped_at, report.reason, report.message) == ("torch", Reason.PRECONDITION, "torch cannot be set")
    assert report.steps[0].diagnoses[0].remedy == "create it first"


def test_a_doubt_names_the_step_that_it_comes_from():
    report = foretell(OLD, step("sglang"), step("torch", pre=FREE))
    assert report.steps[1].message == "does not hold: disk is free; `sglang` would act before it"
    report = foretell(OLD, step("torch", refused=True), step("sglang"))
    assert report.steps[1].message == "not reached: `torch` would fail before it"


def test_the_playbooks_preconditions_bar_only_a_node_on_which_something_would_run():
    refused = foretell(OLD, step("torch"), preconditions=FREE)
    assert (refused.outcome, refused.reason, refused.stopped_at) == (NodeOutcome.FAILED, Reason.PRECONDITION, None)
    assert foretell({**OLD, "torch": "new"}, step("torch"), preconditions=FREE).outcome is NodeOutcome.OK
    unsure = foretell({**OLD, "disk": Unknown("?")}, step("torch"), preconditions=FREE)
    assert (unsure.outcome, unsure.message) == (NodeOutcome.PENDING, "cannot be proven: disk is free (?)")


def test_an_action_that_cannot_read_the_facts_cannot_act(monkeypatch):
    def broken(self, facts):
        raise TypeError("no version")

    monkeypatch.setattr("tests.engine.world.Script.job", broken)
    report = foretell(OLD, step("torch", action="script"))
    assert report.steps[0].message == "`script` cannot read the node's answer (TypeError: no version)"


SURVEY = Survey(redactor=Redactor(), clock=FakeClock())


def test_a_plan_of_live_nodes_takes_one_round_trip_and_closes_its_sessions():
    worlds = {"a": World(dict(OLD)), "b": World({"torch": "new"})}
    sessions = []

    def connect(node):
        sessions.append(FakeSession(worlds[node.name]))
        return sessions[-1]

    book = bound(step("torch"), rollout=Rollout(canary=Share(count=1)))
    report = plan([target("a", book), target("b", book)], connect, SURVEY)
    assert [(it.node, it.wave, it.outcome.value) for it in report.nodes] == [("a", 1, "pending"), ("b", 2, "ok")]
    assert all(it.closed for it in sessions)
    assert [len(it.asked) for it in worlds.values()] == [1, 1]
    assert (exit_status(report), exit_status(report, detailed=True)) == (0, 5)


def test_a_plan_says_of_a_node_that_cannot_be_asked_why():
    def connect(node):
        if node.name == "a":
            raise NodeUnreachable("no route", "is it up?")

        def cut(word):
            raise ConnectionLost("cut")

        return FakeSession(World({}), cut)

    book = bound(step("torch"))
    report = plan([target("a", book), target("b", book)], connect, SURVEY)
    assert [(it.outcome.value, it.message) for it in report.nodes] == [("unreachable", "no route"), ("lost", "cut")]
    assert exit_status(report) == 4


def test_a_plan_on_recorded_facts_calls_what_was_not_recorded_unknown():
    book = bound(step("torch"))
    answers = {query: Known("old") for query in book.queries}
    facts = {name: Facts(name, Origin.RECORDED, "then", told) for name, told in (("a", answers), ("b", {}))}
    report = plan_recorded([target("a", book), target("b", book)], facts, SURVEY)
    assert [it.steps[0].conditions[0].status.value for it in report.nodes] == ["not-held", "unknown"]
    assert "stackplan facts" in report.nodes[1].steps[0].conditions[0].why


def test_of_a_node_without_recorded_facts_nothing_is_said_but_that():
    book = bound(step("torch"))
    facts = {"a": Facts("a", Origin.RECORDED, "then", {query: Known("new") for query in book.queries})}
    report = plan_recorded([target("a", book), target("b", book)], facts, SURVEY)
    there, missing = report.nodes
    assert there.outcome.value == "ok"
    assert (missing.outcome.value, missing.reason.value, missing.steps) == ("unreachable", "unrecorded", ())
    assert missing.message == "no facts are recorded of this node, so nothing is known of it"
    assert exit_status(report) == 4


def test_a_plan_is_redacted():
    book = bound(step("torch"))
    survey = Survey(redactor=Redactor(frozenset({"hunter2secret"})), clock=FakeClock())
    report = plan([target("a", book)], lambda node: FakeSession(World({"torch": "hunter2secret"})), survey)
    assert "hunter2secret" not in repr(report)
    bare = plan([target("a", book)], lambda node: FakeSession(World({"torch": "hunter2secret"})), SURVEY)
    assert "hunter2secret" in repr(bare)


def test_what_was_planned_is_what_is_applied(stage):
    values = {"a": "new", "torch": "old"}
    report = foretell(dict(values), step("a"), step("torch"))
    run = stage(gpu=World(dict(values), {"torch": sets()("torch")}))
    (node,) = run.play(bound(step("a"), step("torch"))).nodes
    assert [it.outcome.value for it in report.steps] == ["satisfied", "would-change"]
    assert [it.outcome.value for it in node.steps] == ["satisfied", "changed"]
    assert report.steps[1].action.command == node.steps[1].action.command


def test_what_the_action_notes_of_the_node_stands_in_the_plan_and_stops_nothing():
    report = foretell({"torch": "stale"}, step("torch"))
    assert outcomes(report) == {"torch": "would-change"}
    assert [(it.summary, it.step) for it in report.steps[0].diagnoses] == [("torch is stale", "torch")]
    assert foretell({"torch": "old"}, step("torch")).steps[0].diagnoses == ()
