"""`service`: what is refused, what the node is told, what is foretold and stated. A real systemd: tests/node."""

import dataclasses

import pytest

from stackplan.actions.service import KIND
from stackplan.model.change import Change
from stackplan.model.diagnosis import Invalid
from stackplan.model.facts import Failed, Query, Unknown
from stackplan.model.kind import CannotAct
from stackplan.model.outcome import Reason

QUERY = Query("service", {"name": "sglang"})
UP = {
    "id": "sglang.service",
    "load": "loaded",
    "load_error": None,
    "active": "active",
    "sub": "running",
    "result": "success",
    "exit": None,
    "file_state": "enabled",
    "path": "/etc/systemd/system/sglang.service",
    "type": "simple",
    "remains": False,
    "invocation": "5fb5a5b5d8a84b7c9f0f6ff0a3c1d2e4",
    "restarts": 0,
    "changed": 41233511,
    "needs_reload": False,
    "can_start": True,
    "can_reload": True,
    "uid": 0,
    "user": "root",
}
DOWN = {**UP, "active": "inactive", "sub": "dead", "file_state": "disabled"}


@pytest.fixture
def made(arguments):
    return lambda **values: KIND.read(arguments(name="sglang", **values))


@pytest.mark.parametrize(
    ("values", "summary"),
    [
        ({}, "`service` does nothing"),
        ({"state": "running"}, "`state` is not one of started, stopped, restarted, reloaded"),
        ({"enabled": "yes"}, "`enabled` is not `true` or `false`"),
        ({"name": "-H host", "state": "started"}, "`name` is not a unit's name"),
    ],
)
def test_refused_in_the_playbook(arguments, values, summary):
    with pytest.raises(Invalid, match=summary):
        KIND.read(arguments(**{"name": "sglang", **values}))


def test_the_task(made, facts):
    kind = made(state="restarted", enabled=True)
    (task,) = kind.job(facts({QUERY: UP})).stages
    assert task.arguments == {"name": "sglang", "enabled": True, "state": "restarted", "settle_s": 3.0}
    assert task.display == "systemctl enable sglang\nsystemctl restart sglang"
    assert kind.describe() == "enable and restart service sglang"


@pytest.mark.parametrize(
    ("answer", "summary", "remedy"),
    [
        ({**DOWN, "uid": 1000, "user": "ops"}, "ops may not change services", "become: true"),
        ({**DOWN, "load": "not-found"}, "there is no unit sglang.service", "install what brings the unit"),
        ({**DOWN, "load": "masked"}, "is masked", "systemctl, unmask, sglang"),
        ({**UP, "needs_reload": True}, "the old one would be run", "systemctl, daemon-reload"),
        (Unknown("systemd does not run on this node"), "systemd does not run", None),
        (Failed("systemctl did not end within 20 s"), "did not end", None),
    ],
)
def test_what_keeps_it_from_acting(made, facts, answer, summary, remedy):
    refused = made(state="started").job(facts({QUERY: answer}))
    assert isinstance(refused, CannotAct)
    assert summary in refused.summary
    assert refused.remedy is None if remedy is None else remedy in refused.remedy


def test_a_masked_or_edited_unit_can_be_stopped(made, facts):
    for answer in ({**UP, "load": "masked"}, {**UP, "needs_reload": True}):
        assert not isinstance(made(state="stopped").job(facts({QUERY: answer})), CannotAct)


def test_nothing_is_foretold_where_all_is_so(made, facts):
    assert made(state="started", enabled=True).predict(facts({QUERY: UP})).changes == ()
    assert made(state="stopped", enabled=False).predict(facts({QUERY: DOWN})).changes == ()


def test_everybody_who_asks_is_foretold_the_same_and_stays_who_he_is(made, facts):
    theirs = QUERY.asked_by("ops")
    other = Query("service", {"name": "ssh"})
    known = facts({QUERY: DOWN, theirs: {**DOWN, "uid": 1000, "user": "ops"}, other: DOWN})
    foretold = made(state="started").predict(known)
    assert foretold.changes == (Change("service", "sglang", "inactive (dead), disabled", "active (running), disabled"),)
    assert set(foretold.answers) == {QUERY, theirs}
    assert {answer.value["active"] for answer in foretold.answers.values()} == {"active"}
    assert foretold.answers[theirs].value["user"] == "ops"


@pytest.mark.parametrize(
    ("values", "unit", "anew"),
    [
        ({"state": "restarted"}, UP, True),
        ({"state": "reloaded"}, UP, True),
        ({"state": "restarted"}, DOWN, False),
        ({"state": "restarted", "enabled": False}, UP, False),
        ({"state": "started"}, DOWN, False),
    ],
)
def test_what_is_done_once_more_is_told_from_what_changes_something(made, facts, values, unit, anew):
    foretold = made(**values).predict(facts({QUERY: unit}))
    assert foretold.anew is anew
    assert len(foretold.changes) == 1


def test_what_is_not_known_is_not_foretold(made, facts):
    assert made(state="started").predict(facts({QUERY: Unknown("no systemd")})) == Unknown(
        "how the unit stands is not known"
    )


@pytest.mark.parametrize(
    ("values", "stated"),
    [
        ({"state": "reloaded"}, {"name": "sglang", "active": True}),
        ({"state": "stopped", "enabled": False}, {"name": "sglang", "active": False, "enabled": False}),
        ({"enabled": True}, {"name": "sglang", "enabled": True}),
    ],
)
def test_what_is_stated_without_being_written_down(made, values, stated):
    (condition,) = made(**values).implied()
    assert (condition.kind, condition.arguments.values) == ("service", stated)


@pytest.fixture
def explained(arguments, evidence, facts):
    """What is said of a failure that left the unit so."""

    def explain(after, output=""):
        read = arguments(name="sglang", state="started", enabled=True)
        seen = evidence(read, (), code=1, output=output, reason=Reason.ACTION)
        return KIND.read(read).diagnose(dataclasses.replace(seen, after=facts({QUERY: after})))

    return explain


@pytest.mark.parametrize(
    ("after", "output", "found"),
    [
        (
            {**UP, "active": "failed", "sub": "failed", "result": "exit-code", "exit": "exit status 3"},
            "the last lines of its journal:\n  loading\n  no such model\nstackplan: sglang did not stay up",
            ("SP242", "failed (failed), result exit-code, exit status 3", ("loading", "no such model")),
        ),
        (
            {**UP, "active": "failed", "sub": "failed"},
            "its journal says why:\n  no such model\nthe last lines of its journal:\n  loading\n  bye\nstackplan: no",
            ("SP242", "failed (failed)", ("no such model", "loading", "bye")),
        ),
        ({**UP, "active": "failed", "result": "start-limit-hit"}, "", ("SP243", None, ())),
        (
            {**UP, "active": "failed"},
            "the last lines of its journal:\n  sglang.service: Start request repeated too quickly.\n",
            ("SP243", None, ("sglang.service: Start request repeated too quickly.",)),
        ),
        (
            {**UP, "file_state": "disabled"},
            "Failed to enable unit: Access denied\nstackplan: sglang is disabled afterwards\n",
            ("SP244", "disabled", ("Failed to enable unit: Access denied",)),
        ),
    ],
)
def test_failures(explained, after, output, found):
    (diagnosis,) = explained(after, output)
    assert (diagnosis.code, diagnosis.observed, diagnosis.causes) == found


@pytest.mark.parametrize("after", [UP, Unknown("gone")])
def test_a_failure_that_nothing_is_known_of_is_not_explained(explained, after):
    assert explained(after) == ()
