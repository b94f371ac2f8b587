"""Verdicts on combinations, and what changed between two batches of facts."""

import pytest

from stackplan.engine.bind import bind_condition
from stackplan.engine.observe import answers_differ, observe
from stackplan.engine.prove import condition_reports, evaluate, prove, summed
from stackplan.model.change import Change
from stackplan.model.facts import Facts, Known, Origin, Unknown
from stackplan.model.outcome import Phase
from stackplan.model.verdict import Status
from tests.engine.world import bound, combined, condition, step, value_query

HELD, NOT_HELD, UNKNOWN = Status.HELD, Status.NOT_HELD, Status.UNKNOWN
ANSWERS = {HELD: Known("yes"), NOT_HELD: Known("no"), UNKNOWN: Unknown("nobody knows")}


def facts(**answers):
    return Facts("n", Origin.LIVE, "", {value_query(name): answer for name, answer in answers.items()})


def verdict(word, *statuses):
    names = [f"x{number}" for number in range(len(statuses))]
    operands = [condition("is", name=name, value="yes") for name in names]
    known = facts(**{name: ANSWERS[status] for name, status in zip(names, statuses, strict=True)})
    return evaluate(bind_condition(combined(word, *operands), None), known)


@pytest.mark.parametrize(
    ("word", "statuses", "status"),
    [
        ("not", (HELD,), NOT_HELD),
        ("not", (NOT_HELD,), HELD),
        ("not", (UNKNOWN,), UNKNOWN),
        ("any", (HELD, HELD), HELD),
        ("any", (HELD, NOT_HELD), HELD),
        ("any", (UNKNOWN, HELD), HELD),
        ("any", (NOT_HELD, UNKNOWN), UNKNOWN),
        ("any", (UNKNOWN, UNKNOWN), UNKNOWN),
        ("any", (NOT_HELD, NOT_HELD), NOT_HELD),
        ("all", (HELD, HELD), HELD),
        ("all", (HELD, NOT_HELD), NOT_HELD),
        ("all", (UNKNOWN, NOT_HELD), NOT_HELD),
        ("all", (HELD, UNKNOWN), UNKNOWN),
        ("all", (UNKNOWN, UNKNOWN), UNKNOWN),
        ("all", (NOT_HELD, NOT_HELD), NOT_HELD),
    ],
)
def test_combinations(word, statuses, status):
    assert verdict(word, *statuses).status is status


def test_texts_of_combinations_say_what_was_wanted_and_seen():
    none = verdict("any", NOT_HELD, NOT_HELD)
    assert (none.text, none.expected, none.observed) == ("x0 is yes or x1 is yes", "yes; or yes", "no")
    negated = verdict("not", HELD)
    assert (negated.text, negated.expected, negated.observed) == ("not: x0 is yes", "not: x0 is yes", "yes")
    assert verdict("not", UNKNOWN).why == "nobody knows"
    assert verdict("all", HELD, NOT_HELD).text == "x1 is yes"
    assert verdict("all", HELD, HELD).text == "x0 is yes and x1 is yes"


@pytest.mark.parametrize(
    ("statuses", "status"),
    [
        ((), HELD),
        ((HELD,), HELD),
        ((HELD, UNKNOWN), UNKNOWN),
        ((UNKNOWN, NOT_HELD, HELD), NOT_HELD),
    ],
)
def test_a_sum_is_held_only_when_everything_is(statuses, status):
    conditions = [bind_condition(condition("is", name=it.value, value="yes"), None) for it in statuses]
    assert summed(prove(conditions, facts(**{it.value: ANSWERS[it] for it in Status}))) is status


def test_a_fact_that_nobody_asked_for_is_a_bug_of_the_kind_and_not_proven():
    found = evaluate(bind_condition(condition("is", name="x", value="yes"), None), facts())
    assert found.status is UNKNOWN
    assert "`is` cannot read the node's answer (NotAsked" in found.why


def test_reports_tell_what_held_before_of_the_same_condition():
    one = bind_condition(condition("is", name="x", value="yes"), None)
    other = bind_condition(condition("is", name="x", value="yes"), None)
    before, after = facts(x=Known("no")), facts(x=Known("yes"))
    reports = condition_reports(Phase.POST, prove([one, other], after), prove([one], before))
    assert [(it.before, it.status) for it in reports] == [(NOT_HELD, HELD), (None, HELD)]


def seen(before, after, *, action="set", earlier=()):
    (found,) = bound(step("x", action=action)).bound_steps
    return observe(found, [bind_condition(it, None) for it in earlier], facts(**before), facts(**after))


def test_a_change_that_several_witnesses_see_is_told_once():
    found = seen({"x": Known("1")}, {"x": Known("2")}, earlier=[condition("is", name="x", value="1")])
    assert found.changes == (Change("value", "x", "1", "2"),)
    assert found.complete


def test_of_one_change_the_action_has_the_word():
    found = seen({"x": Known("1")}, {"x": Known("2")}, earlier=[condition("costly_is", name="x", value="1")])
    assert found.changes == (Change("value", "x", "1", "2"),)


def test_what_earlier_steps_proved_is_watched_too():
    earlier = [condition("is", name="y", value="1")]
    found = seen({"x": Known("1"), "y": Known("1")}, {"x": Known("1"), "y": Known("2")}, earlier=earlier)
    assert found.changes == (Change("value", "y", "1", "2"),)


def test_a_witness_that_is_blind_before_or_after_says_nothing():
    for before, after in [(Unknown("?"), Known("2")), (Known("1"), Unknown("?"))]:
        found = seen({"x": before}, {"x": after})
        assert (found.changes, found.complete) == ((), False)


def test_an_action_that_declares_nothing_leaves_the_observation_incomplete():
    assert not seen({"x": Known("1")}, {"x": Known("1")}, action="script").complete
    assert seen({"x": Known("1")}, {"x": Known("1")}).complete


def test_answers_are_compared_by_what_the_conditions_asked():
    one = [bind_condition(condition("is", name="x", value="1"), None)]
    assert answers_differ(one, facts(x=Known("1")), facts(x=Unknown("?")))
    assert not answers_differ(one, facts(x=Known("1"), y=Known("1")), facts(x=Known("1"), y=Known("2")))
