"""Binding: kinds found, arguments read, everything that is wrong told at once."""

import hashlib
from dataclasses import replace

import pytest

from stackplan.engine.bind import SkippedStep, bind, bind_condition
from stackplan.model.arguments import Arguments
from stackplan.model.condition import Recheck
from stackplan.model.diagnosis import Invalid
from stackplan.model.facts import Query
from stackplan.model.playbook import Action
from stackplan.model.secret import Secret
from tests.engine.world import AT, at, bound, combined, condition, playbook, step


def test_all_that_is_wrong_in_any_step_is_told_at_once():
    no_kind = replace(step("a"), action=Action("sett", Arguments({}, at(4)), at(4)))
    no_value = step("b", post=[condition("is", 7, name="b")])
    no_condition = step("c", post=[combined("any", condition("iss", 9, name="c"))])
    with pytest.raises(Invalid, match="there is no action `sett`") as raised:
        bind(playbook(no_kind, no_value, no_condition))
    assert [(it.summary, it.at.line) for it in raised.value.diagnoses] == [
        ("there is no action `sett`", 4),
        ("`value` is missing", 7),
        ("there is no condition `iss`", 9),
    ]


def test_a_word_of_the_other_family_is_no_kind_of_this_one():
    with pytest.raises(Invalid, match="there is no condition `set`"):
        bind_condition(condition("set", name="x"), None)


def test_a_combination_asks_what_its_operands_ask_each_once():
    both = combined("all", condition("is", name="x", value="1"), combined("not", condition("is", name="x", value="2")))
    found = bind_condition(both, "root")
    assert found.queries == (Query("value", {"name": "x"}, "root"),)
    assert len(found.kinds) == 2


@pytest.mark.parametrize(("word", "count"), [("not", 0), ("not", 2), ("any", 0), ("all", 0)])
def test_a_combination_of_the_wrong_number_is_refused(word, count):
    operands = [condition("is", name="x", value="1")] * count
    with pytest.raises(Invalid, match=f"`{word}` does not combine {count}"):
        bind_condition(combined(word, *operands), None)


def test_a_combination_is_rechecked_as_seldom_as_its_costliest_operand_unless_it_says():
    cheap, costly = condition("is", name="x", value="1"), condition("costly_is", name="x", value="1")
    both = combined("any", cheap, costly)
    assert bind_condition(both, None).recheck is Recheck.FINAL
    assert bind_condition(replace(both, recheck=Recheck.ALWAYS), None).recheck is Recheck.ALWAYS


def test_patience_is_that_of_the_whole_or_of_the_most_patient_operand():
    both = combined("any", condition("is", name="x", value="1", within_s=5.0), condition("is", name="x", value="2"))
    assert bind_condition(both, None).patience_s == 5.0
    assert bind_condition(replace(both, within_s=1.0), None).patience_s == 1.0


def test_a_postcondition_that_the_kind_brings_along_is_not_doubled_when_it_is_stated():
    (stated,) = bound(step("torch", action="careful")).bound_steps
    assert len(stated.post) == 1
    (implied,) = bound(step("torch", action="careful", post=[])).bound_steps
    assert [it.condition.kind for it in implied.post] == ["is"]


WRITES = {"path": "/etc/motd", "content": "hi\n", "mode": "0644"}
SHA256 = hashlib.sha256(b"hi\n").hexdigest()


@pytest.mark.parametrize(
    ("stated", "texts"),
    [
        ([{"path": "/etc/motd"}], 2),
        ([{"path": "/etc/motd", "mode": "0644"}], 2),
        ([{"path": "/etc/motd", "mode": "0644", "sha256": SHA256}], 1),
        ([{"path": "/etc/motd", "mode": "644", "sha256": f"sha256:{SHA256.upper()}", "owner": "root"}], 1),
        ([{"path": "/etc/motd", "mode": "0600", "sha256": SHA256}], 2),
        ([{"path": "/etc/other", "mode": "0644", "sha256": SHA256}], 2),
        ([{"path": "/etc/motd", "mode": "0644"}, {"path": "/etc/motd", "sha256": SHA256}], 3),
        ([{"path": "/etc/motd", "exists": False}], 2),
    ],
)
def test_what_a_file_implies_is_dropped_where_the_author_states_it_all(stated, texts):
    post = tuple(condition("file", 3, **values) for values in stated)
    written = replace(step("motd", action="file", post=post), action=Action("file", Arguments(WRITES, AT), AT))
    assert len(bound(written).bound_steps[0].post) == texts


def test_what_an_all_states_is_stated_and_what_an_any_states_is_not():
    file = condition("file", 3, path="/etc/motd", mode="0644", sha256=SHA256)
    for word, count in (("all", 1), ("any", 2), ("not", 2)):
        written = step("motd", action="file", post=[combined(word, file)])
        written = replace(written, action=Action("file", Arguments(WRITES, AT), AT))
        assert len(bound(written).bound_steps[0].post) == count


def withheld(*steps):
    """Return the files named by conditions of which nothing is to be kept by which they could be tried out."""
    bound_steps = bound(*steps).bound_steps
    queries = {query for it in bound_steps for each in (*it.pre, *it.post) for query in each.queries}
    return {it.arguments["path"] for it in queries if it.arguments.get("secret")}


def script(name, **values):
    done = condition("file", 3, path=f"/{name}")
    return replace(step(name, action="run", post=[done]), action=Action("run", Arguments(values, AT), AT))


SECRET = Secret("correct-horse")
HOLDING = {
    "in the script": script("a", script=SECRET),
    "on its input": script("a", script="cat > /a", stdin=SECRET),
    "in its environment": script("a", script="echo $T > /a", env={"T": SECRET}),
    "in the step's environment": replace(script("a", script="echo $T > /a"), environment={"T": SECRET}),
}


@pytest.mark.parametrize("case", HOLDING)
def test_where_a_script_holds_a_secret_it_may_be_in_any_file_that_no_other_step_writes(case):
    plain = replace(
        step("motd", action="file", post=[condition("file", 3, path="/etc/motd")]),
        action=Action("file", Arguments(WRITES, AT), AT),
    )
    copies = script("b", script="cp /a /b")
    assert withheld(plain, HOLDING[case], copies) == {"/a", "/b"}
    assert withheld(plain, script("a", script="echo > /a"), copies) == set()


def test_each_user_that_a_step_acts_as_is_asked_for_once():
    book = bound(step("a", user="root"), step("b", user="root"), step("c", user="ops"), step("d"))
    assert [dict(it.condition.arguments.values) for it in book.preconditions] == [{"user": "root"}, {"user": "ops"}]
    assert {query.user for query in book.bound_steps[0].queries} == {"root"}


def test_a_skipped_step_is_not_read():
    """Its texts are still as written: nothing in them need make sense."""
    skipped = replace(step("a", user="root", post=[condition("iss", name="x")]), skipped=True)
    book = bind(playbook(skipped, step("b")))
    assert [isinstance(it, SkippedStep) for it in book.steps] == [True, False]
    assert [it.id for it in book.steps] == ["a", "b"]
    assert (book.preconditions, len(book.bound_steps)) == ((), 1)
    assert book.steps[0].step.at == AT
