"""Questions: whose they are, and when two are the same."""

from stackplan.model.facts import Facts, Known, Origin, Query


def test_a_question_is_asked_by_the_user_of_its_step_unless_it_names_one():
    plain, own = Query("kernel_caches", {"venv": "/v"}), Query("kernel_caches", {"venv": "/v"}, "sglang")
    assert plain.asked_by("ops").user == "ops"
    assert plain.asked_by(None) is plain
    assert own.asked_by("ops") is own
    assert own != plain


def test_facts_find_the_answer_for_the_user_that_a_question_names():
    plain, own = Query("disk", {"path": "/"}), Query("disk", {"path": "/"}, "sglang")
    facts = Facts("n", Origin.LIVE, "", {plain.asked_by("ops"): Known(1), own: Known(2)}, "ops")
    assert (facts[plain], facts[own]) == (Known(1), Known(2))
