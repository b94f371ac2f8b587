"""Which conditions state the same: two names of one environment, and what a plan and a comparison make of that."""

import pytest

from stackplan.engine.bind import bind
from stackplan.engine.foresight import warranted
from stackplan.engine.plan_comparison import compare_plans
from stackplan.engine.prove import Proof
from stackplan.engine.same_statement import same_statement
from stackplan.model.change import Change
from stackplan.model.facts import Facts, Known, Origin, Query, Unknown
from stackplan.model.outcome import NodeOutcome, StepOutcome
from stackplan.model.report import ActionReport, NodeReport, StepReport
from stackplan.model.verdict import Status, unknown
from tests.engine.world import AT, combined, condition, playbook, step

REAL = "/home/ops/ml-env"


def asked(venv, path, through=None, kind="distributions"):
    led = {} if through is None else {"through": through}
    return {Query(kind, {"venv": venv}): Known({"path": path, **led})}


FACTS = Facts(
    "n",
    Origin.LIVE,
    "",
    asked("~/ml-env", REAL)
    | asked("~/current", "/home/ops/current", [REAL])
    | asked("~/other", "/home/ops/other")
    # What is open for another reason tells no place, and need not.
    | {Query("records", {"venv": venv}): Unknown("x") for venv in ("~/ml-env", "~/current")},
)


def intact(venv):
    return condition("environment_intact", venv=venv)


def package(venv, **more):
    return condition("package", venv=venv, name="torch", **more)


def conditions(*stated):
    (only,) = bind(playbook(step("torch", post=stated, action="look"))).bound_steps
    return only.post


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (intact("~/ml-env"), intact("~/current"), True),
        (intact("~/current"), intact("~/current"), True),
        (intact("~/ml-env"), intact("~/other"), False),
        (package("~/ml-env", version="==1"), package("~/current", version="==1"), True),
        (package("~/ml-env", version="==1"), package("~/current", version="==2"), False),
        (package("~/ml-env"), intact("~/current"), False),
        (combined("all", package("~/ml-env")), combined("all", package("~/current")), True),
        (combined("all", package("~/ml-env")), combined("any", package("~/current")), False),
        (condition("is", name="a", value="b"), condition("is", name="c", value="b"), False),
    ],
)
def test_two_names_of_one_environment(one, other, same):
    mine, its = conditions(one, other)
    assert same_statement(mine, its, FACTS) is same


def test_where_a_name_leads_nowhere_known_nothing_is_taken_for_the_same():
    mine, its = conditions(intact("~/ml-env"), intact("~/current"))
    moved = FACTS.foreseen(dict.fromkeys(asked("~/current", ""), Unknown("it depends on what is at x by then")))
    assert not same_statement(mine, its, moved)


def test_what_is_proven_by_one_name_is_warranted_by_the_other():
    (earlier,) = bind(playbook(step("torch", post=[intact("~/ml-env")], action="look"))).bound_steps
    (later,) = conditions(intact("~/current"))
    open_ = Proof(later, unknown("~/current intact", why="not known before torch is changed"))
    assert warranted(open_, [earlier], 0, FACTS).verdict.status is Status.HELD
    (other,) = conditions(intact("~/other"))
    left = Proof(other, unknown("~/other intact", why="not known before torch is changed"))
    assert warranted(left, [earlier], 0, FACTS) is left


def reported(venv, *, after="2"):
    command = f"uv pip install torch --python {venv}/bin/python"
    change = Change("environment", venv, None, after)
    it = StepReport(
        id="torch",
        outcome=StepOutcome.WOULD_CHANGE,
        at=AT,
        action=ActionReport(kind="python_packages", command=command),
        predicted=(change,),
    )
    return NodeReport(node="n", outcome=NodeOutcome.PENDING, steps=(it,))


@pytest.mark.parametrize(
    ("venv", "after", "differs"),
    [("~/current", "2", False), ("~/current", "3", True), ("~/other", "2", True), ("~/ml-env", "2", False)],
)
def test_a_node_is_not_told_of_another_name_for_its_environment(venv, after, differs):
    (outlook,) = compare_plans([reported("~/ml-env")], [reported(venv, after=after)], {}, {"n": FACTS})
    assert bool(outlook.steps) is differs


def test_without_facts_another_name_may_be_another_folder():
    (outlook,) = compare_plans([reported("~/ml-env")], [reported("~/current")], {})
    assert outlook.steps
