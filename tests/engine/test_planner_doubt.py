"""What a plan says of steps behind one whose effect is not foretold, and behind one that would fail."""

from dataclasses import replace

import pytest

from stackplan.engine.exit_status import exit_status
from stackplan.engine.plan import plan
from stackplan.model.condition import Recheck
from stackplan.model.facts import Unknown
from stackplan.model.outcome import NodeOutcome
from tests.engine.test_planner_predictions import NEW, OLD, SURVEY, foretell, foretold, install, outcomes, world
from tests.engine.world import (
    FakeSession,
    Install,
    Set,
    bound,
    combined,
    condition,
    step,
    target,
    value_query,
)

ONLY_IF = "the action runs only if this does not hold by then: "

SCRIPT = step("script", action="script")
WILL = {**NEW, "script": "old"}


def said(report):
    return {it.id: it.outcome.value for it in report.steps}


@pytest.fixture
def mute(monkeypatch):
    """The dry run of torch is not answered; whatever comes of it, it can change nothing but torch."""
    monkeypatch.setattr(Install, "predict", foretold_unless("torch"))
    monkeypatch.setattr(Install, "reach", lambda self, facts: frozenset([value_query(self.name)]))


def foretold_unless(name):
    predict = Install.predict
    return lambda self, facts: Unknown("there was no dry run") if self.name == name else predict(self, facts)


@pytest.mark.parametrize("action", ["install", "set", "look"])
def test_behind_a_script_nothing_is_satisfied(action):
    report = foretell(world(WILL, torch={}), SCRIPT, step("torch", action=action)).report
    assert said(report) == {"script": "would-run", "torch": "unknown"}
    torch = report.steps[1]
    assert torch.message == "holds now; `script` would act before it"
    assert torch.predicted is None, "whether it acts is not known"
    (it,) = torch.conditions
    assert (it.status.value, foretold(it), it.predicted_why) == ("held", "unknown", "`script` would act before it")
    assert report.outcome is NodeOutcome.PENDING


def test_what_may_have_to_run_is_shown():
    report = foretell(world(WILL, torch={}), SCRIPT, install("torch")).report
    assert report.steps[1].action.command == "set torch"


def test_a_plan_of_what_is_not_known_has_something_to_do():
    book = bound(SCRIPT, install("torch"))
    report = plan([target("gpu", book)], lambda node: FakeSession(world(WILL, torch={})), SURVEY)
    assert (exit_status(report), exit_status(report, detailed=True)) == (0, 5)


def test_a_script_that_is_not_run_leaves_no_doubt():
    report = foretell(world({**WILL, "script": "new"}, torch={}), SCRIPT, install("torch")).report
    assert said(report) == {"script": "satisfied", "torch": "satisfied"}
    assert report.outcome is NodeOutcome.OK
    always = step("script", action="script", always=True)
    report = foretell(world({**WILL, "script": "new"}, torch={}), always, install("torch")).report
    assert said(report) == {"script": "would-run", "torch": "unknown"}


def test_a_look_that_finds_nothing_amiss_leaves_no_doubt_of_its_own():
    steps = (SCRIPT, step("app", action="look"), install("torch"))
    last = foretell(world(WILL, torch={}), *steps).report.steps[2]
    assert last.message == "holds now; `script` would act before it"


@pytest.mark.usefixtures("mute")
def test_what_the_unknown_effect_cannot_reach_is_satisfied():
    there = world({"torch": "old", "app": "new"}, torch={}, app={})
    look = step("torch-again", action="look", post=[condition("is", 4, name="torch", value="old")])
    report = foretell(there, install("torch"), install("app"), look).report
    assert said(report) == {"torch": "would-change", "app": "satisfied", "torch-again": "unknown"}
    assert report.steps[2].message == "holds now; `torch` would act before it"


@pytest.mark.usefixtures("mute")
def test_what_may_act_is_doubted_in_its_turn():
    """Nothing reaches app but the step that acts only if torch makes it necessary."""
    both = [condition("is", 4, name="torch", value="old"), condition("is", 5, name="app", value="new")]
    there = world({"torch": "old", "app": "new", "last": "new"}, torch={}, app={}, last={})
    steps = (install("torch"), install("app", post=both), step("check", action="look",
             post=[condition("is", 6, name="app", value="new")]), install("last"))  # fmt: skip
    report = foretell(there, *steps).report
    assert said(report) == {"torch": "would-change", "app": "unknown", "check": "unknown", "last": "satisfied"}
    assert report.steps[2].message == "holds now; `app` may act before it"
    held, open_ = report.steps[1].conditions[1], report.steps[1].conditions[0]
    assert (foretold(held), foretold(open_)) == ("held", "unknown")


def test_one_of_several_that_nothing_reaches_is_enough(monkeypatch):
    monkeypatch.setattr(Set, "reach", lambda self, facts: frozenset([value_query(self.name)]), raising=False)
    either = combined("any", condition("is", name="torch", value="new"), condition("is", name="app", value="new"))
    none = combined("not", condition("is", name="torch", value="other"))
    for stated, expected in ((either, "satisfied"), (none, "unknown")):
        steps = (step("torch", always=True), step("check", action="look", post=[stated]))
        assert said(foretell(world(NEW), *steps).report)["check"] == expected


def test_what_would_change_in_doubt_says_that_it_is_told_as_things_stand():
    report = foretell(world({**OLD, "script": "old"}, torch={"torch": "new"}), SCRIPT, install("torch")).report
    torch = report.steps[1]
    assert (torch.outcome.value, torch.message) == (
        "would-change",
        "as things stand now; `script` would act before it",
    )
    (it,) = torch.conditions
    assert (foretold(it), it.predicted_why) == (
        "unknown",
        "as things stand now it will hold; `script` would act before it",
    )


def test_what_is_foretold_in_doubt_leaves_the_steps_to_come_in_doubt(monkeypatch):
    """Of what `torch` rests on nothing is known, so what rests on torch is not known either."""
    monkeypatch.setattr(Install, "predict", foretold_unless("base"))
    monkeypatch.setattr(Install, "reach", lambda self, facts: frozenset([value_query(self.name)]))
    monkeypatch.setattr(Install, "queries", lambda self: (value_query(self.name), value_query("base")))
    there = world({"base": "old", "torch": "old"}, base={}, torch={"torch": "new"})
    look = step("again", action="look", post=[condition("is", 4, name="torch", value="new")])
    report = foretell(there, install("base"), install("torch"), look).report
    assert [(it.id, foretold(it.conditions[-1])) for it in report.steps[1:]] == [
        ("torch", "unknown"),
        ("again", "unknown"),
    ]


def test_an_action_that_reads_what_a_script_may_write_is_not_foretold(monkeypatch):
    monkeypatch.setattr(Install, "reads", lambda self: (value_query("torch"),))
    values = {**OLD, "script": "old"}
    (known,) = foretell(world(values, torch={"torch": "new"}), install("torch")).report.steps
    assert [change.name for change in known.predicted] == ["torch"], "the negative control"
    torch = foretell(world(values, torch={"torch": "new"}), SCRIPT, install("torch")).report.steps[1]
    assert torch.predicted is None
    assert "what it reads may be another by then, `script` would act before it" in torch.message
    assert foretold(torch.conditions[0]) == "unknown"


def test_what_an_action_does_not_bring_about_is_open_in_doubt():
    both = [condition("is", 3, name="torch", value="new"), condition("is", 4, name="app", value="new")]
    there = world({"torch": "old", "app": "new", "script": "old"}, torch={"torch": "new"})
    torch = foretell(there, SCRIPT, install("torch", post=both, pre=both[1:])).report.steps[1]
    assert [foretold(it) for it in torch.conditions] == ["unknown", "unknown", "unknown"]
    assert torch.outcome.value == "would-change", "that a precondition may be broken is not held against it"


def test_what_holds_only_by_then_is_in_doubt_too():
    there = world({**OLD, "script": "old"}, torch={"torch": "new", "app": "new"})
    app = foretell(there, install("torch"), SCRIPT, step("app", action="look")).report.steps[2]
    assert (app.outcome.value, app.message) == ("unknown", "foretold to hold; `script` would act before it")


@pytest.mark.parametrize("values", [OLD, {**OLD, "app": "new"}])
@pytest.mark.parametrize("action", ["install", "script", "look"])
def test_behind_a_failure_nothing_is_reached(values, action):
    there = world(values, torch={}, app={})
    pre = [condition("is", 5, name="app", value=values["app"])]
    report = foretell(there, install("torch"), step("app", action=action, pre=pre)).report
    assert outcomes(report) == {"torch": ("would-fail", "no-op"), "app": ("unknown", None)}
    app = report.steps[1]
    assert app.message == "not reached: `torch` would fail before it"
    assert (app.action, app.predicted, app.diagnoses) == (None, None, ())
    assert {(foretold(it), it.predicted_why) for it in app.conditions} == {("unknown", "`torch` would fail before it")}
    assert len(app.conditions) == 2
    asked = [query for batch in there.asked[1:] for query in batch]
    assert [query.arguments["name"] for query in asked] == ["torch"], "what is not reached is not dry run"


def test_the_last_check_holds_nothing_against_a_step_that_a_script_may_mend():
    """What is looked at in the end alone is broken by a dry run, and a script comes after it."""
    final = [condition("is", 3, name="torch", value="new", recheck=Recheck.FINAL)]
    dry = {"torch": {"torch": "new"}, "app": {"app": "new", "torch": "old"}}
    values = {**OLD, "script": "old"}
    steps = (install("torch", post=final), install("app"))
    assert outcomes(foretell(world(values, **dry), *steps).report)["torch"] == ("would-fail", "regression")
    assert outcomes(foretell(world(values, **dry), *steps, SCRIPT).report)["torch"] == ("would-change", None)


def test_an_action_that_cannot_tell_its_reach_may_reach_anything(monkeypatch):
    def broken(self, facts):
        raise KeyError("venv")

    monkeypatch.setattr(Install, "predict", lambda self, facts: Unknown("?"))
    monkeypatch.setattr(Install, "reach", broken)
    monkeypatch.setattr(Install, "forecast", lambda self, facts: ())
    report = foretell(world({"torch": "old", "app": "new"}), install("torch"), install("app")).report
    assert said(report)["app"] == "unknown"


def test_nodes_of_which_a_step_of_unknown_effect_reaches_something_else_are_told_apart(monkeypatch):
    """What was worked out for one node counts for another only where the same is in doubt."""
    monkeypatch.setattr(Install, "forecast", lambda self, facts: ())
    monkeypatch.setattr(Install, "predict", lambda self, facts: Unknown("?"))

    def reach(self, facts):
        return frozenset([value_query(str(facts[value_query("torch")].value))])

    monkeypatch.setattr(Install, "reach", reach)
    book = bound(install("torch"), step("app", action="look"), step("lib", action="look"))
    worlds = {name: world({"torch": name, "app": "new", "lib": "new"}) for name in ("app", "lib")}
    report = plan([target(name, book) for name in worlds], lambda node: FakeSession(worlds[node.name]), SURVEY)
    assert [said(node) for node in report.nodes] == [
        {"torch": "would-change", "app": "unknown", "lib": "satisfied"},
        {"torch": "would-change", "app": "satisfied", "lib": "unknown"},
    ]


# ---- what earlier steps prove, and what settles whether an action runs


def vague(name):
    """Make the answers about `name` unknown wherever a dry run moves anything."""
    predict = Install.predict

    def told(self, facts):
        found = predict(self, facts)
        if isinstance(found, Unknown) or not found.changes:
            return found
        return replace(found, answers={**found.answers, value_query(name): Unknown("its files are not known")})

    return told


def whole(line, **rest):
    return condition("is", line, name="whole", value="yes", **rest)


def new(name, line=3, **rest):
    return condition("is", line, name=name, value="new", **rest)


@pytest.fixture
def files(monkeypatch):
    """A node of which nothing foretells, once anything has changed, whether it is whole."""
    monkeypatch.setattr(Install, "predict", vague("whole"))
    return {**OLD, "whole": "yes", "other": "new"}


def test_what_an_earlier_step_proves_holds_in_the_next_ones_turn(files):
    there = world(files, torch={"torch": "new"}, other={"other": "newer"})
    steps = (install("torch", post=[new("torch"), whole(4)]), install("other", post=[new("other"), whole(5)]))
    report = foretell(there, *steps).report
    assert said(report) == {"torch": "would-change", "other": "satisfied"}
    assert [foretold(it) for it in report.steps[0].conditions] == ["held", "unknown"]
    assert [foretold(it) for it in report.steps[1].conditions] == ["held", "held"]


def test_what_nobody_proves_before_leaves_open_whether_the_action_runs(files):
    """In a run the step may be satisfied: what its action would change is then not foretold to happen."""
    there = world(files, torch={"torch": "new"}, other={"other": "newer"}, last={})
    last = step("last", action="look", post=[new("other")])
    steps = (install("torch"), install("other", post=[new("torch"), whole(5)]), last)
    report = foretell(there, *steps).report
    other, last = report.steps[1:]
    assert (other.outcome.value, other.predicted, other.details) == ("unknown", None, ())
    assert other.message == f"{ONLY_IF}whole is yes; it would change other"
    assert (last.outcome.value, last.message) == ("unknown", "holds now; `other` may act before it")
    assert report.outcome is NodeOutcome.PENDING


@pytest.mark.parametrize(
    ("rest", "dry", "expected"),
    [
        ({}, {}, "the action would change nothing, and cannot be proven: whole is yes"),
        ({}, {"error": "no such version"}, f"no such version; {ONLY_IF}whole is yes"),
        ({"pre": [new("app")]}, {"other": "newer"}, "does not hold: app is new; the action runs only if this does not"),
        ({"refused": True}, {}, f"other cannot be set; {ONLY_IF}whole is yes"),
        ({"action": "script"}, {}, f"{ONLY_IF}whole is yes"),
        ({"action": "look"}, {}, "cannot be proven: whole is yes (its files are not known)"),
    ],
)
def test_a_step_that_may_find_nothing_to_do_is_not_said_to_fail_or_to_run(files, rest, dry, expected):
    there = world(files, torch={"torch": "new"}, other=dry)
    post = [new("torch"), whole(5)]
    report = foretell(there, install("torch"), step("other", **{"action": "install", "post": post, **rest})).report
    assert report.steps[1].outcome.value == "unknown"
    assert report.steps[1].message.startswith(expected)


def test_what_is_surely_missing_or_always_run_runs(files):
    there = world(files, torch={"torch": "new"}, app={"app": "new"})
    steps = (install("torch"), install("app", post=[new("app"), whole(5)]))
    assert said(foretell(there, *steps).report)["app"] == "would-change"
    steps = (install("torch"), install("app", post=[new("torch"), whole(5)], always=True))
    assert said(foretell(there, *steps).report)["app"] == "would-change"


@pytest.mark.parametrize(
    ("recheck", "between", "expected"),
    [
        (Recheck.ALWAYS, {"app": "new"}, "satisfied"),
        (Recheck.FINAL, {"app": "new"}, "unknown"),
        (Recheck.NEVER, {"app": "new"}, "unknown"),
        (Recheck.FINAL, None, "satisfied"),
        (Recheck.NEVER, None, "satisfied"),
    ],
)
def test_what_was_proven_counts_as_long_as_it_is_proven_again_or_nothing_acts(files, recheck, between, expected):
    values = files if between else {**files, "app": "new"}
    there = world(values, torch={"torch": "new"}, app=between or {})
    check = step("check", action="look", post=[whole(9)])
    steps = (install("torch", post=[new("torch"), whole(4, recheck=recheck)]), install("app"), check)
    assert said(foretell(there, *steps).report)["check"] == expected


def test_only_the_very_same_statement_is_proven_by_another_step(files):
    there = world(files, torch={"torch": "new"})
    stated = whole(4)
    for other, expected in (
        (whole(9), "satisfied"),
        (condition("is", 9, name="whole", value="yes", lasting=False), "unknown"),
        (combined("any", whole(9), new("app")), "unknown"),
    ):
        steps = (install("torch", post=[new("torch"), stated]), step("check", action="look", post=[other]))
        assert said(foretell(there, *steps).report)["check"] == expected
    both = combined("any", whole(9), new("app"))
    steps = (install("torch", post=[new("torch"), both]), step("check", action="look", post=[both]))
    assert said(foretell(there, *steps).report)["check"] == "satisfied"
