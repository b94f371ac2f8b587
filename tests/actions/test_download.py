"""`download`: what is refused, what the node is told, what is said of a failure."""

from dataclasses import replace

import pytest

from stackplan.actions._target import target_query
from stackplan.actions.download import KIND
from stackplan.model.diagnosis import Invalid
from stackplan.model.facts import Query, Unknown
from stackplan.model.kind import CannotAct
from stackplan.model.outcome import Reason
from stackplan.model.secret import Secret

DIGEST = "ab" * 32
VALUES = {"url": "https://a.example/t.json", "sha256": DIGEST.upper(), "path": "~/models/t.json"}
QUERY = target_query("~/models/t.json", follow=True)
MISSING = {
    "user": "ops",
    "folder": "/home/ops/models",
    "folder_kind": "folder",
    "folder_writable": True,
    "kind": "missing",
}


def test_the_task(arguments, facts):
    (task,) = KIND.read(arguments(**VALUES, mode="0644")).job(facts({QUERY: MISSING})).stages
    assert task.kind == "download"
    assert task.arguments == {"url": VALUES["url"], "sha256": DIGEST, "path": "~/models/t.json", "mode": "0644"}


def test_a_password_travels_and_is_not_shown(arguments, facts):
    address = "https://ops:hunter2@a.example/t.json"
    kind = KIND.read(arguments(**{**VALUES, "url": address}))
    (task,) = kind.job(facts({QUERY: MISSING})).stages
    assert task.arguments["url"] == Secret(address)
    assert "https://***@a.example/t.json" in task.display
    assert "hunter2" not in task.display + kind.describe()


def test_no_folder_to_put_it_into(arguments, facts):
    refused = KIND.read(arguments(**VALUES)).job(facts({QUERY: {**MISSING, "folder_kind": "missing"}}))
    assert isinstance(refused, CannotAct)
    assert "/home/ops/models does not exist" in refused.summary


@pytest.mark.parametrize(
    ("values", "summary"),
    [
        ({"url": "file:///etc/shadow"}, "not an address of https or http"),
        ({"url": "a.example/t.json"}, "not an address"),
        ({"sha256": "abc"}, "not a sha256 digest"),
        ({"path": "~/models/"}, "names no file"),
        ({"mode": "9"}, "not an octal mode"),
    ],
)
def test_refused(arguments, values, summary):
    with pytest.raises(Invalid, match=summary):
        KIND.read(arguments(**{**VALUES, **values}))


@pytest.mark.parametrize(
    ("output", "code", "summary"),
    [
        (
            "sha256 of https://a.example/t.json differs\n  expected  aa\n  observed  bb\n",
            "SP231",
            "is not the one whose",
        ),
        ("https://a.example/t.json answers HTTP 404 Not Found\n", "SP232", "answers HTTP 404 Not Found"),
        ("no room in /home: 10 bytes are needed, 1 are free\n", "SP233", "no room in /home: 10 bytes"),
        ("https://a.example/t.json could not be fetched: a.example: timed out\n", "SP234", "a.example: timed out"),
    ],
)
def test_failures(arguments, evidence, output, code, summary):
    read = arguments(**VALUES)
    (diagnosis,) = KIND.read(read).diagnose(evidence(read, (), code=1, output=output, reason=Reason.ACTION))
    assert diagnosis.code == code
    assert summary in diagnosis.summary
    assert KIND.read(read).diagnose(evidence(read, (), code=0, output=output)) == ()


@pytest.mark.parametrize(
    ("said", "remedy"),
    [("404 Not Found", "Correct `url`"), ("429 Too Many Requests", "Try again later"), ("503 Busy", "Try again later")],
)
def test_a_server_that_may_answer_otherwise_later_is_to_be_tried_again(arguments, evidence, said, remedy):
    read, output = arguments(**VALUES), f"https://a.example/t.json answers HTTP {said}\n"
    (diagnosis,) = KIND.read(read).diagnose(evidence(read, (), code=1, output=output, reason=Reason.ACTION))
    assert diagnosis.remedy.startswith(remedy)


def test_that_the_file_is_there_is_stated_without_being_written_down(arguments):
    made = KIND.read(arguments(path="~/a", url="https://a.example/a", sha256="0" * 64, mode="0755"))
    (condition,) = made.implied()
    assert condition.arguments.values == {"path": "~/a", "sha256": "0" * 64, "mode": "0755"}


OFFER = Query("offered_file", {"url": VALUES["url"]})
READY = {**MISSING, "path": "/home/ops/models/t.json", "new_file": {"mode": "0644", "owner": "ops", "group": "ops"}}


@pytest.mark.parametrize(
    ("why", "code", "remedy"),
    [
        ("answered 404 Not Found", "SP232", "Correct `url` at 37:7."),
        ("wants a login (401 Unauthorized)", "SP232", "Check `url` at 37:7: it may need a user and a password"),
        ("cannot be reached: Connection refused", "SP234", "Check `url` at 37:7, and that the node reaches it"),
        ("did not answer within 20 s", "SP234", "Check `url` at 37:7, and that the node reaches it"),
    ],
)
def test_an_address_that_does_not_give_the_file_out_is_foretold_to_fail(arguments, facts, why, code, remedy):
    kind = KIND.read(arguments(**VALUES))
    prediction = kind.predict(facts({QUERY: READY, OFFER: {"offered": False, "why": why}}))
    (failure,) = prediction.failures
    assert (prediction.changes, failure.code) == ((), code)
    assert failure.summary == f"The address of the file, https://a.example/t.json, {why}."
    assert failure.remedy.startswith(remedy)


def test_an_address_that_gives_it_out_and_one_that_could_not_be_asked(arguments, facts):
    kind = KIND.read(arguments(**VALUES))
    assert kind.forecast(facts({QUERY: READY})) == (OFFER,)
    (change,) = kind.predict(facts({QUERY: READY, OFFER: {"offered": True, "why": None}})).changes
    assert change.name == "~/models/t.json"
    unknown = kind.predict(facts({QUERY: READY, OFFER: Unknown("the address answered 503 Service Unavailable")}))
    assert unknown == Unknown(
        "whether the file is to be had could not be told: the address answered 503 Service Unavailable"
    )


@pytest.mark.parametrize(
    "answer",
    [
        {**READY, "kind": "file", "sha256": DIGEST, "mode": "0644"},
        {**READY, "kind": "file", "sha256": None, "mode": "0644"},
        {**READY, "kind": "folder"},
        {**READY, "folder_kind": "missing"},
    ],
)
def test_nothing_is_asked_where_nothing_would_be_fetched(arguments, facts, answer):
    assert KIND.read(arguments(**VALUES)).forecast(facts({QUERY: answer})) == ()


def test_the_address_is_asked_by_the_proxy_of_the_step(arguments, facts):
    read = replace(arguments(**VALUES), step_environment={"HTTPS_PROXY": "http://proxy:3128", "TOKEN": Secret("x")})
    (query,) = KIND.read(read).forecast(facts({QUERY: READY}))
    assert query.arguments["step_environment"] == {"HTTPS_PROXY": "http://proxy:3128"}
