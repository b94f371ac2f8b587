"""What is worked out once for all that answer the same: what counts as the same, and that nothing else does."""

from collections import Counter
from dataclasses import replace

import pytest

from stackplan.engine.consult import Survey
from stackplan.engine.facts_file import write
from stackplan.engine.facts_folder import read_folder
from stackplan.engine.memo import Memo
from stackplan.engine.plan import plan_recorded
from stackplan.model.facts import Facts, Known, Origin, Query, Unknown, laid
from stackplan.model.secret import Redactor
from tests.engine.world import FakeClock, Install, Is, bound, condition, step, target, value_query

ONE, TWO, THREE = (Query("value", {"name": name}) for name in ("one", "two", "three"))
SURVEY = Survey(redactor=Redactor(), clock=FakeClock())
NODES = 50
STEPS = ("torch", "app", "extra")


@pytest.fixture
def memo():
    return Memo()


@pytest.fixture
def called(memo):
    """Give a function that recalls `work` on some answers, and says what came of it and whether `work` was called."""
    about = object()

    def recalled(work, *sources, word="word", besides=()):
        calls = []

        def counted(*watched):
            calls.append(1)
            return work(*watched)

        return memo.recall(word, about, sources, counted, *besides), bool(calls)

    return recalled


def test_a_call_is_made_once_for_all_that_answer_its_questions_alike(called):
    yes, no = Known("yes"), Known("no")
    assert called(lambda it: it[ONE].value, {ONE: yes, TWO: yes}) == ("yes", True)
    assert called(lambda it: it[ONE].value, {ONE: yes, TWO: no}) == ("yes", False)
    assert called(lambda it: it[ONE].value, {ONE: no, TWO: no}) == ("no", True)
    assert called(lambda it: it[ONE].value, {ONE: no, TWO: yes}) == ("no", False)


def test_answers_are_told_apart_by_identity_so_that_large_ones_are_not_compared(called):
    assert called(lambda it: it[ONE].value, {ONE: Known([1, 2])})[1]
    assert called(lambda it: it[ONE].value, {ONE: Known([1, 2])})[1]


def test_a_later_question_counts_only_on_the_way_on_which_it_was_asked(called):
    yes, no = Known("yes"), Known("")

    def work(it):
        return "two" if it[ONE].value and it[TWO].value else "one alone"

    assert called(work, {ONE: yes, TWO: yes}) == ("two", True)
    assert called(work, {ONE: yes, TWO: no}) == ("one alone", True)
    assert called(work, {ONE: no, TWO: yes}) == ("one alone", True)
    assert called(work, {ONE: no, TWO: no}) == ("one alone", False)
    assert called(work, {ONE: yes, TWO: yes}) == ("two", False)


def test_that_there_is_no_answer_is_an_answer(called):
    def asked(it):
        return TWO in it

    assert called(asked, {ONE: Known(1)}) == (False, True)
    assert called(asked, {}) == (False, False)
    assert called(asked, {TWO: Known(1)}) == (True, True)


def test_who_goes_through_all_questions_depends_on_which_there_are(called):
    one = Known(1)
    assert called(list, {ONE: one}) == ([ONE], True)
    assert called(list, {ONE: Known(2)}) == ([ONE], False)
    assert called(list, {ONE: one, TWO: one}) == ([ONE, TWO], True)
    assert called(len, {ONE: one, TWO: one}, word="len") == (2, True)
    assert called(len, {ONE: one}, word="len") == (1, True)


def test_sources_words_and_what_is_given_besides_are_kept_apart(called):
    one, two = {ONE: Known(1)}, {ONE: Known(2)}

    def second(_, other):
        return other[ONE].value

    assert called(second, one, two) == (2, True)
    assert called(second, two, two) == (2, False)
    assert called(second, one, one) == (1, True)
    assert called(second, one, two, word="other") == (2, True)
    assert called(second, one, two, besides=(3,)) == (2, True)
    assert called(second, one, two, besides=(3,)) == (2, False)


def test_a_call_within_a_call_rests_on_what_the_inner_one_looked_at(memo, called):
    about = object()

    def work(it):
        return memo.recall("inner", about, (it,), lambda inner: inner[ONE].value)

    yes = Known("yes")
    assert called(work, {ONE: yes, TWO: yes}) == ("yes", True)
    # Found by the inner call, and noted for the outer one all the same.
    assert called(work, {ONE: yes}, word="another") == ("yes", True)
    assert called(work, {ONE: Known("no")}, word="another") == ("no", True)


def test_a_call_that_looks_in_another_order_each_time_is_still_answered_rightly(called):
    yes, no = Known("yes"), Known("no")
    orders = iter([(ONE, TWO), (TWO, ONE), (ONE, TWO), (TWO, ONE)])

    def work(it):
        return [it[query].value for query in sorted(next(orders), key=lambda query: query.key)]

    for answers in ({ONE: yes, TWO: no}, {ONE: no, TWO: no}, {ONE: yes, TWO: yes}):
        assert called(work, answers)[0] == [answers[ONE].value, answers[TWO].value]


def test_answers_that_say_the_same_become_one_and_no_others(memo):
    first = memo.one(Known({"a": 1}))
    assert memo.one(Known({"a": 1})) is first
    assert [memo.one(it) is first for it in (Known({"a": True}), Known({"a": 1.0}), Unknown("a"))] == [False] * 3


def test_answers_laid_over_others_are_looked_at_only_when_they_are_wanted(called):
    under, over = {ONE: Known("old"), TWO: Known("old")}, {TWO: Known("new"), THREE: Known("new")}

    def work(it):
        found = laid(it, over)
        assert (len(found), list(found), THREE in found) == (3, [ONE, TWO, THREE], True)
        return found[TWO].value

    assert called(work, under) == ("new", True)
    assert called(work, {ONE: Known("other"), TWO: Known("other")}) == ("new", False)
    assert laid(under, over) == {ONE: under[ONE], TWO: over[TWO], THREE: over[THREE]}


@pytest.fixture
def fleet(tmp_path, monkeypatch):
    """Record nodes alike in all but their free space, and count on which answers kinds are asked what.

    The dry runs of these installs carry nothing; else each would carry the free space along.
    """
    monkeypatch.setattr("tests.engine.world.dry_query", lambda name, _: dry_run(name))
    count = Counter()
    for kind, method in ((Is, "evaluate"), (Is, "traits"), (Install, "predict"), (Install, "job"), (Install, "notes")):
        monkeypatch.setattr(kind, method, counted(count, method, getattr(kind, method)))
    book = bound(
        *(step(name, action="install") for name in STEPS), preconditions=[condition("is", name="free", value="much")]
    )
    values = {"torch": "old", "app": "old", "extra": "new"}
    for number in range(NODES):
        answers = {value_query(name): Known(value) for name, value in ({"free": str(number)} | values).items()}
        dry_runs = {dry_run(name): Known({name: "new"}) for name in STEPS}
        write(
            tmp_path, Facts(f"n{number}", Origin.RECORDED, "2026-12-01T08:30:00Z", answers | dry_runs), SURVEY.redactor
        )
    return book, tmp_path, count


def dry_run(name):
    return Query("dry", {"name": name, "carried": None})


def counted(count, word, method):
    def call(kind, facts):
        count[word, kind.name] += 1
        return method(kind, facts)

    return call


def test_nodes_that_differ_in_their_free_space_cost_one_evaluation_of_all_else(fleet):
    book, folder, count = fleet
    facts = read_folder(folder)
    plan_recorded([target("n0", book)], facts, SURVEY)
    of_one = Counter(count)
    count.clear()
    plan_recorded([target(name, book) for name in facts], facts, SURVEY)
    assert of_one["evaluate", "torch"] == 2  # as it is, and as it will be
    assert of_one["predict", "app"] == 1
    assert count == of_one | {("evaluate", "free"): NODES, ("traits", "free"): NODES}


def test_nodes_whose_answers_are_objects_of_their_own_share_nothing_so_the_count_counts(fleet):
    book, folder, count = fleet
    facts = {name: read_folder(folder)[name] for name in ("n0", "n1")}
    plan_recorded([target(name, book) for name in facts], facts, SURVEY)
    # What is foretold of both alike is one answer, though: of `torch` that is one look for two.
    assert (count["evaluate", "torch"], count["predict", "app"]) == (3, 2)


def test_what_is_shared_is_what_each_node_gets_by_itself(fleet):
    book, folder, _ = fleet
    facts = read_folder(folder)
    together = plan_recorded([target(name, book) for name in facts], facts, SURVEY)
    alone = [plan_recorded([target(name, book)], facts, SURVEY).nodes[0] for name in facts]
    assert [replace(it, wave=None) for it in together.nodes] == [replace(it, wave=None) for it in alone]
    assert len({it.preconditions[0].observed for it in together.nodes}) == NODES


def test_playbooks_of_their_own_share_nothing(fleet):
    book, folder, count = fleet
    facts = read_folder(folder)
    other = bound(*(step(name, action="install", value="other") for name in STEPS))
    report = plan_recorded([target("n0", book), target("n1", other)], facts, SURVEY)
    assert [[it.outcome.value for it in node.steps] for node in report.nodes] == [
        ["would-change", "would-change", "satisfied"],
        ["would-fail", "unknown", "unknown"],
    ]
    assert count["predict", "torch"] == 2
