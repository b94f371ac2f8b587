"""Plans on predicted facts: a chain of dry runs, what holds after each of them, and what cannot be told."""

import pytest

from stackplan.engine.consult import Survey
from stackplan.engine.exit_status import exit_status
from stackplan.engine.facts_folder import read_folder
from stackplan.engine.gather import record
from stackplan.engine.plan import plan, plan_recorded
from stackplan.engine.planner import Planner, drive
from stackplan.model.change import Change, Held
from stackplan.model.condition import Recheck
from stackplan.model.facts import Facts, Known, Origin, Unknown
from stackplan.model.outcome import NodeOutcome, Reason
from stackplan.model.report import ConditionReport
from stackplan.model.secret import Redactor
from tests.engine.world import (
    FakeClock,
    FakeSession,
    Install,
    Is,
    World,
    bound,
    combined,
    condition,
    dry_query,
    sets,
    step,
    target,
    value_query,
)

SURVEY = Survey(redactor=Redactor(), clock=FakeClock())


def install(name, **rest):
    return step(name, action="install", **rest)


def foretell(world, *steps, **rest):
    """Return the plan of a node that is this world."""
    planner = Planner(node="gpu", playbook=bound(*steps, **rest), origin=Origin.LIVE, taken="")
    return drive(planner, FakeSession(world).ask)


def outcomes(report):
    return {it.id: (it.outcome.value, it.reason and it.reason.value) for it in report.steps}


def world(values, **dry):
    """Return a node with these values, whose dry runs answer what stands under their names, whatever they find."""
    return World(dict(values), dry={name: told if callable(told) else lambda _, told=told: told
                                    for name, told in dry.items()})  # fmt: skip


OLD = {"torch": "old", "app": "old"}
NEW = {"torch": "new", "app": "new"}


def foretold(condition_report: ConditionReport):
    return condition_report.predicted and condition_report.predicted.value


@pytest.mark.parametrize(
    ("values", "dry", "expected"),
    [
        (OLD, {"torch": {"torch": "new"}}, ("would-change", None)),
        (OLD, {"torch": {}}, ("would-fail", "no-op")),
        (OLD, {"torch": {"app": "new"}}, ("would-fail", "postcondition")),
        (OLD, {"torch": {"torch": "newer"}}, ("would-fail", "postcondition")),
        (OLD, {"torch": {"error": "nothing goes with it"}}, ("would-fail", "action")),
        (NEW, {"torch": {}}, ("satisfied", None)),
        (NEW, {"torch": {"torch": "newer"}}, ("satisfied", None)),
    ],
)
def test_what_a_dry_run_means_for_its_step(values, dry, expected):
    report = foretell(world(values, **dry), install("torch")).report
    assert outcomes(report) == {"torch": expected}
    assert report.outcome is (NodeOutcome.FAILED if expected[1] else NodeOutcome.PENDING if values is OLD else
                              NodeOutcome.OK)  # fmt: skip


def test_changes_details_and_verdicts_are_foretold():
    (torch,) = foretell(world(OLD, torch={"torch": "new"}), install("torch")).report.steps
    assert torch.predicted == (Change("value", "torch", "old", "new"),)
    assert torch.details == ("dry run of torch",)
    (it,) = torch.conditions
    assert (it.status.value, it.observed, foretold(it), it.predicted_observed) == ("not-held", "old", "held", "new")


def test_a_step_finds_the_node_as_the_steps_before_will_leave_it():
    seen = []

    def app(values):
        seen.append(dict(values))
        return {"app": "new"}

    report = foretell(world(OLD, torch={"torch": "new"}, app=app), install("torch"), install("app")).report
    assert outcomes(report) == {"torch": ("would-change", None), "app": ("would-change", None)}
    assert seen == [{"torch": "new", "app": "old"}]


def test_a_step_that_an_earlier_one_makes_superfluous_is_satisfied():
    plan = foretell(world(OLD, torch={"torch": "new", "app": "new"}, app={}), install("torch"), install("app"))
    _, app = plan.report.steps
    assert (app.outcome.value, app.predicted) == ("satisfied", ())
    assert (app.conditions[0].status.value, foretold(app.conditions[0])) == ("not-held", "held")


def test_a_no_op_is_diagnosed_as_the_true_one_would_be():
    (torch,) = foretell(world(OLD, torch={}), install("torch")).report.steps
    assert [(it.code, it.summary, it.step) for it in torch.diagnoses] == [
        ("SP299", "no-op: 1 unmet, broke None", "torch")
    ]
    assert torch.predicted == ()


def test_a_failure_that_the_dry_run_foretells_speaks_for_itself():
    (torch,) = foretell(world(OLD, torch={"error": "no such version"}), install("torch")).report.steps
    assert (torch.message, [it.code for it in torch.diagnoses]) == ("no such version", ["SP298"])


def test_a_regression_names_the_step_that_it_breaks():
    steps = (install("torch"), install("app"), install("last"))
    there = world({**OLD, "last": "old"}, torch={"torch": "new"}, app={"app": "new", "torch": "old"}, last={})
    report = foretell(there, *steps).report
    assert outcomes(report) == {
        "torch": ("would-change", None),
        "app": ("would-fail", "regression"),
        "last": ("unknown", None),
    }
    app = report.steps[1]
    assert (app.broke.step, [it.text for it in app.broke.conditions]) == ("torch", ["torch is new"])
    assert app.message == "would break `torch`: torch is new"
    assert report.stopped_at == "app"
    assert app.diagnoses[0].summary == "regression: 1 unmet, broke torch"
    assert [len(it) for it in there.asked] == [3, 1, 1], "what is not reached is not dry run"


def test_what_is_broken_and_mended_again_is_no_regression_where_only_the_end_counts():
    once = [condition("is", 3, name="torch", value="new")]
    at_the_end = [condition("is", 3, name="torch", value="new", recheck=Recheck.FINAL)]
    dry = {"torch": {"torch": "new"}, "app": {"app": "new", "torch": "old"}, "mend": {"mend": "new", "torch": "new"}}
    values = {**OLD, "mend": "old"}
    rest = (install("app"), install("mend"))
    mended = foretell(world(values, **dry), install("torch", post=at_the_end), *rest).report
    assert {it.outcome.value for it in mended.steps} == {"would-change"}
    strict = foretell(world(values, **dry), install("torch", post=once), *rest).report
    assert outcomes(strict)["app"] == ("would-fail", "regression")
    dry["mend"] = {"mend": "new"}
    report = foretell(world(values, **dry), install("torch", post=at_the_end), *rest).report
    assert outcomes(report)["torch"] == ("would-fail", "regression"), "as in a run, at the step that it belongs to"
    assert report.steps[0].message == "at the end `torch` no longer holds: torch is new"


def test_never_rechecked_is_never_a_regression():
    never = [condition("is", 3, name="torch", value="new", recheck=Recheck.NEVER)]
    dry = {"torch": {"torch": "new"}, "app": {"app": "new", "torch": "old"}}
    report = foretell(world(OLD, **dry), install("torch", post=never), install("app")).report
    assert {it.outcome.value for it in report.steps} == {"would-change"}


def test_postconditions_that_hold_before_a_change_are_too_weak():
    (torch,) = foretell(world(NEW, torch={"torch": "newer"}), install("torch")).report.steps
    (warning,) = torch.diagnoses
    assert warning.severity.value == "warning"
    assert "would still change torch: they are too weak to tell" in warning.summary
    assert foretell(world(NEW, torch={}), install("torch")).report.steps[0].diagnoses == ()
    assert torch.predicted == (), "the action is not run"


def test_in_doubt_nothing_is_said_to_fail():
    """A script may do anything: it may make the very change that the next step's dry run does not find."""
    script = step("script", action="script")
    report = foretell(world({**OLD, "script": "old"}, torch={}), script, install("torch")).report
    assert outcomes(report) == {"script": ("would-run", None), "torch": ("unknown", None)}
    torch = report.steps[1]
    assert torch.message == "the action would exit 0 and change nothing; `script` would act before it"
    assert torch.diagnoses[0].code == "SP299", "what is wrong with it is told all the same"
    assert (foretold(torch.conditions[0]), torch.conditions[0].predicted_why) == (
        "unknown",
        "`script` would act before it",
    )


def test_an_effect_that_is_not_foretold_leaves_the_postconditions_open():
    (torch,) = foretell(world(OLD), step("torch")).report.steps
    assert torch.message == "unknown until applied: its effects are not declared"
    assert (torch.predicted, foretold(torch.conditions[0])) == (None, "unknown")


def test_after_a_change_a_condition_that_may_rest_on_anything_is_open():
    """The command that fails now may work once torch is there; one that works now is taken to go on working."""
    works = condition("open_is", 4, name="works", value="yes")
    later = step("check", action="look", post=[works])
    for now, dry, expected in (
        ("no", {"torch": "new"}, ("unknown", None)),
        ("no", {}, ("would-fail", "postcondition")),
        ("yes", {"torch": "new"}, ("satisfied", None)),
    ):
        values = {**(OLD if dry else NEW), "works": now}
        report = foretell(world(values, torch=dry), install("torch"), later).report
        assert outcomes(report)["check"] == expected
    own = install("torch", post=[condition("is", 3, name="torch", value="new"), works])
    (torch,) = foretell(world({**OLD, "works": "no"}, torch={"torch": "new"}), own).report.steps
    assert torch.outcome.value == "would-change"
    assert [foretold(it) for it in torch.conditions] == ["held", "unknown"]
    assert torch.conditions[1].predicted_why == "only once `torch` has run can it be told"


def test_a_change_touches_no_open_condition_out_of_its_reach(monkeypatch):
    monkeypatch.setattr(Install, "reach", lambda it, facts: frozenset({value_query(it.name)}))
    own = condition("open_is", 4, name="works", value="yes")
    chain = install("torch"), install("app", post=[own])
    dry = {"torch": {"torch": "new"}, "app": {"app": "new"}}
    report = foretell(world({**OLD, "works": "no"}, **dry), *chain).report
    assert report.steps[1].outcome.value == "would-fail", "nothing that runs could bring it about"
    assert report.steps[1].conditions[0].predicted_observed == "no"


def test_an_open_condition_bars_no_later_step():
    works = [condition("open_is", 4, name="works", value="yes")]
    dry = {"torch": {"torch": "new"}, "app": {"app": "new"}}
    for now, expected in (("no", "unknown"), ("yes", "would-change")):
        there = world({**OLD, "works": now}, **dry)
        report = foretell(there, install("torch"), install("app", pre=works)).report
        assert report.steps[1].outcome.value == expected


def test_what_an_earlier_step_holds_and_no_prediction_can_vouch_for_is_named(monkeypatch):
    """The dry run shows that torch is replaced, and not whether by a build that is as good."""
    predict = Install.predict

    def vague(self, facts):
        told = predict(self, facts)
        if self.name != "app":
            return told
        hidden = {query: Unknown("no label") for query in told.answers if query.arguments["name"] == "torch"}
        return type(told)(changes=told.changes, answers={**told.answers, **hidden})

    monkeypatch.setattr(Install, "predict", vague)
    dry = {"torch": {"torch": "new"}, "app": {"app": "new", "torch": "other"}}
    report = foretell(world(OLD, **dry), install("torch"), install("app")).report
    app = report.steps[1]
    assert app.outcome.value == "would-change"
    assert app.diagnoses[0].summary == "Whether `torch` goes on holding is not foretold: torch is new (no label)."


def test_what_is_always_run_is_foretold_too():
    (torch,) = foretell(world(NEW, torch={"torch": "newer"}), install("torch", always=True)).report.steps
    assert (torch.outcome.value, torch.reason) == ("would-fail", Reason.POSTCONDITION)
    (torch,) = foretell(world(NEW, torch={}), install("torch", always=True)).report.steps
    assert (torch.outcome.value, torch.predicted) == ("would-run", ())


def test_a_change_that_cannot_be_proven_by_then_is_not_a_failure():
    patient = [condition("is", 3, name="torch", value="new", within_s=60.0)]
    (torch,) = foretell(world(OLD, torch={}), install("torch", post=patient)).report.steps
    assert torch.outcome.value == "unknown"
    assert torch.message == "the action would change nothing, and does not hold: torch is new"
    either = [combined("any", condition("is", name="torch", value="new"), condition("open_is", name="x", value="y"))]
    (torch,) = foretell(world({**OLD, "x": "?"}, torch={"torch": "newer"}), install("torch", post=either)).report.steps
    assert torch.outcome.value == "would-change"


def test_a_kind_that_falls_over_its_own_dry_run_foretells_nothing(monkeypatch):
    def broken(self, facts):
        raise KeyError("changes")

    monkeypatch.setattr(Install, "predict", broken)
    report = foretell(world(OLD, torch={}), install("torch")).report
    assert (
        report.steps[0].message
        == "unknown until applied: `install` cannot read the node's answer (KeyError: 'changes')"
    )
    monkeypatch.setattr(Install, "forecast", broken)
    assert outcomes(foretell(world(OLD), install("torch")).report) == {"torch": ("would-change", None)}


def test_an_action_refused_for_want_of_a_prediction_is_not_said_to_fail(monkeypatch):
    """The folder that the step writes into may be made by the one before; whether it is was not foretold."""
    predict = Install.predict

    def vague(self, facts):
        told = predict(self, facts)
        return type(told)(changes=told.changes, answers=dict.fromkeys(told.answers, Unknown("?")))

    monkeypatch.setattr(Install, "predict", vague)
    steps = (install("torch", post=[condition("is", name="x", value="y")]), step("app", refused=True))
    report = foretell(world({**OLD, "x": "z"}, torch={"app": "new"}), *steps).report
    assert report.steps[0].outcome.value == "would-fail", "x is not among what was foretold, and it stays"
    monkeypatch.setattr("tests.engine.world.Set.job", _refuses_to_guess)
    steps = (install("torch", post=[condition("open_is", name="x", value="y")]), step("app"))
    report = foretell(world({**OLD, "x": "z"}, torch={"app": "new"}), *steps).report
    assert report.steps[1].message == "app is not known; what it needs to know is not foretold"


def _refuses_to_guess(self, facts):
    from stackplan.model.job import Command, Job  # noqa: PLC0415 - of this one stand-in
    from stackplan.model.kind import CannotAct  # noqa: PLC0415 - as above
    from tests.engine.world import value_query  # noqa: PLC0415 - as above

    if not isinstance(facts[value_query(self.name)], Known):
        return CannotAct(f"{self.name} is not known")
    return Job((Command(argv=("set", self.name), display=f"set {self.name}"),))


# ---- rounds


def test_steps_that_leave_the_node_as_it_is_share_a_round_trip():
    names = ("a", "b", "c", "torch", "d")
    there = world({**dict.fromkeys(names, "new"), "torch": "old"}, torch={"torch": "new"}, a={}, b={}, c={}, d={})
    foretell(there, *(install(name) for name in names))
    assert [len(it) for it in there.asked] == [5, 4, 1]


def test_a_plan_without_dry_runs_takes_one_round_trip():
    there = world(OLD)
    foretell(there, step("torch"), step("app"))
    assert len(there.asked) == 1


def test_a_dry_run_that_was_answered_is_not_asked_again(monkeypatch):
    """A kind whose questions never end costs one round trip a step all the same."""
    count = iter(range(1000))
    monkeypatch.setattr(Install, "forecast", lambda self, facts: (dry_query(f"torch{next(count)}", facts),))
    monkeypatch.setattr(World, "answer", lambda self, query: Known("old"))
    there = world(OLD)
    foretell(there, install("torch"), install("app"))
    assert len(there.asked) == 3


def test_the_basis_holds_every_answer_and_a_step_plan_names_its_own():
    there = world(OLD, torch={"torch": "new"}, app={"app": "new"})
    plan = foretell(there, install("torch"), install("app"))
    assert {it for batch in there.asked for it in batch} == set(plan.basis.answers)
    assert [[query.kind for query in it.queries] for it in plan.steps] == [["value", "dry"]] * 2


def test_a_plan_on_recorded_facts_is_that_of_the_node(tmp_path):
    there = world(OLD, torch={"torch": "new"}, app={"app": "new", "torch": "old"})
    targets = [target("gpu", bound(install("torch"), install("app")))]
    record(targets, lambda node: FakeSession(there), SURVEY, tmp_path)
    live = plan(targets, lambda node: FakeSession(there), SURVEY)
    assert plan_recorded(targets, read_folder(tmp_path), SURVEY) == live
    assert exit_status(live) == 3


def test_a_dry_run_that_was_not_recorded_leaves_the_step_open():
    book = bound(install("torch"))
    facts = Facts("gpu", Origin.RECORDED, "then", {query: Known("old") for query in book.queries})
    report = plan_recorded([target("gpu", book)], {"gpu": facts}, SURVEY)
    (torch,) = report.nodes[0].steps
    assert (torch.outcome.value, torch.message) == ("would-change", "unknown until applied: there was no dry run")


def test_a_report_of_a_run_bears_what_its_plan_foretold(stage):
    there = world(OLD, torch={"torch": "new"}, app={"app": "new"})
    there.commands.update(torch=sets()("torch"), app=sets()("app"))
    planned = plan([target("gpu", bound(install("torch"), install("app")))], lambda node: FakeSession(there), SURVEY)
    (node,) = stage(gpu=there).play(bound(install("torch"), install("app")), planned).nodes
    assert [it.outcome.value for it in node.steps] == ["changed", "changed"]
    assert [it.predicted for it in node.steps] == [it.changes for it in node.steps]


def test_nodes_tell_what_may_set_them_apart():
    assert foretell(world(OLD), step("torch"), step("app")).report.traits == {"torch": "old", "app": "old"}


def test_what_a_condition_sees_change_under_a_name_of_its_own_is_foretold_as_a_run_tells_it(monkeypatch):
    """A file that is written through a link is one change to the action and another to who looks at the link's end."""

    def state(self, facts):
        return {("alias", self.name): Held(str(facts[value_query(self.name)].value))}

    monkeypatch.setattr(Is, "state", state)
    (torch,) = foretell(world(OLD, torch={"torch": "new"}), install("torch")).report.steps
    assert [(it.kind, it.before, it.after) for it in torch.predicted] == [
        ("alias", "old", "new"),
        ("value", "old", "new"),
    ]
