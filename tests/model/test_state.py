"""Changes as differences of two states, packages as a state, verdicts on several parts."""

import pytest

from stackplan.model.change import Change, Held, differences
from stackplan.model.distribution import package_state
from stackplan.model.facts import Facts, Failed, Known, NotAsked, Origin, Query, Unknown
from stackplan.model.secret import Secret
from stackplan.model.verdict import Status, conjunction, held, not_held, unknown


def row(name, version, record="r"):
    return {"name": name, "version": version, "folder": f"{name}-{version}.dist-info", "record_sha256": record}


def packages(*rows):
    return package_state(Known({"distributions": list(rows)}))


def test_what_came_went_moved_and_was_rewritten():
    before = packages(row("torch", "2.10.0+cu128"), row("gone", "1"), row("same", "1"), row("again", "1", "old"))
    after = packages(row("torch", "2.11.0+cu130"), row("new", "1"), row("same", "1"), row("again", "1", "new"))
    assert differences(before, after) == (
        Change("package", "again", "1", "1"),
        Change("package", "gone", "1", None),
        Change("package", "new", None, "1"),
        Change("package", "torch", "2.10.0+cu128", "2.11.0+cu130"),
    )
    assert differences(before, before) == ()


def test_names_of_packages_are_compared_as_the_index_does():
    assert differences(packages(row("sgl_kernel", "1")), packages(row("sgl_kernel", "1"))) == ()
    assert list(packages(row("SGL_Kernel", "1"))) == [("package", "sgl-kernel")]


def test_two_dist_infos_of_one_name_are_both_told():
    assert packages(row("torch", "1"), row("torch", "2"))["package", "torch"].text == "1, 2"


@pytest.mark.parametrize("answer", [Unknown("?"), Failed("?")])
def test_what_is_not_known_is_no_state(answer):
    assert package_state(answer) == {}


def test_a_state_is_told_apart_by_its_fingerprint():
    before, after = {("file", "x"): Held("644", "a")}, {("file", "x"): Held("644", "b")}
    assert differences(before, after) == (Change("file", "x", "644", "644"),)


def test_a_fact_that_was_not_asked_for_is_no_absence():
    facts = Facts("gpu-01", Origin.LIVE, "", {Query("nvcc", {"prefix": "/a"}): Known(1)})
    assert facts[Query("nvcc", {"prefix": "/a"})] == Known(1)
    with pytest.raises(NotAsked, match="nvcc"):
        facts[Query("nvcc", {"prefix": "/b"})]


def test_a_query_is_known_by_what_it_asks_and_shows_no_secret():
    secret = Query("command", {"env": {"A": Secret("hunter2")}})
    assert secret == Query("command", {"env": {"A": Secret("hunter2")}})
    assert secret != Query("command", {"env": {"A": Secret("hunter3")}})
    assert "hunter" not in secret.key + repr(secret)
    assert Query("x", {}).asked_by("ops") != Query("x", {})
    assert Query("x", {"a": ("1",)}) == Query("x", {"a": ["1"]})


def test_the_facts_of_a_step_are_those_that_its_user_asked_for():
    facts = Facts("n", Origin.LIVE, "", {Query("x", {}): Known("mine"), Query("x", {}, "ops"): Known("theirs")})
    assert facts[Query("x", {})] == Known("mine")
    assert facts.seen_by("ops")[Query("x", {})] == Known("theirs")


HELD, NOT, UNKNOWN = held("a"), not_held("b", expected="1", observed="2", evidence="file"), unknown("c", why="no tool")


@pytest.mark.parametrize(
    ("parts", "status", "text"),
    [
        ((HELD, HELD), Status.HELD, "all of it"),
        ((HELD, NOT), Status.NOT_HELD, "b"),
        ((HELD, UNKNOWN), Status.UNKNOWN, "c"),
        ((UNKNOWN, NOT), Status.NOT_HELD, "b"),
        ((NOT, NOT), Status.NOT_HELD, "b; b"),
        ((), Status.HELD, "all of it"),
    ],
)
def test_a_verdict_on_parts_speaks_of_those_that_decide(parts, status, text):
    found = conjunction("all of it", parts)
    assert (found.status, found.text) == (status, text)
    if status is Status.NOT_HELD:
        assert found.evidence == "file"
