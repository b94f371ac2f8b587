"""`clear_caches`: what is refused, what the node is told, what is foretold and stated. What it removes: tests/node."""

import pytest

from stackplan.actions.clear_caches import KIND
from stackplan.conditions.no_stale_caches import KIND as NO_STALE_CACHES
from stackplan.model.change import Change
from stackplan.model.diagnosis import Invalid, Severity
from stackplan.model.facts import Failed, Known, Query, Unknown
from stackplan.model.kind import CannotAct
from stackplan.model.verdict import Status

ROW = {
    "tool": "triton",
    "path": "/home/ops/.triton/cache",
    "named_by": None,
    "exists": True,
    "fault": None,
    "entries": 340,
    "files": 2720,
    "bytes": 1288490188,
    "reasons": [{"why": "older than torch 2.11.0+cu130", "entries": 312}],
    "examples": ["/home/ops/.triton/cache/4XQ"],
    "stale_entries": 312,
    "stale_files": 2496,
    "stale_bytes": 1181116006,
}
ALL_STALE = {**ROW, "tool": "vllm", "path": "/v", "entries": 2, "files": 9, "bytes": 4096}
ALL_STALE |= {"stale_entries": 2, "stale_files": 9, "stale_bytes": 4096}
TOLD = {
    "path": "/home/ops/ml-env",
    "exists": True,
    "environment": True,
    "interpreter": "/home/ops/ml-env/bin/python",
    "interpreter_fault": None,
    "python_version": "3.11.7",
    "site_packages": [],
    "user": "ops",
    "cuda": "13.0",
    "packages": {"torch": "2.11.0+cu130"},
    "complete": True,
    "caches": [ROW, ALL_STALE, {**ROW, "tool": "tilelang", "path": "/t", "exists": False}],
    "holders": [],
    "hidden": 0,
}
ASKED = Query("kernel_caches", {"venv": "~/ml-env", "holders": True})
PLAIN = Query("kernel_caches", {"venv": "~/ml-env"})


def stale(count, at="/c"):
    rows = [{"path": f"{at}/{index:02}", "bytes": 1024 * (count - index), "written": 1760000000} for index in range(20)]
    return {**ROW, "path": at, "stale": rows[:count], "stale_entries": count}


@pytest.fixture
def kind(arguments):
    return KIND.read(arguments(venv="~/ml-env"))


@pytest.mark.parametrize("values", [{}, {"venv": "~/a", "python": "/usr/bin/python3"}])
def test_refused_in_the_playbook(arguments, values):
    with pytest.raises(Invalid, match="`clear_caches` does not say whose packages count"):
        KIND.read(arguments(**values))


def test_the_task(kind, facts):
    assert kind.queries() == (ASKED,)
    (task,) = kind.job(facts({ASKED: TOLD})).stages
    places = (
        {"tool": "triton", "path": "/home/ops/.triton/cache", "named_by": None},
        {"tool": "vllm", "path": "/v", "named_by": None},
    )
    told = {"venv": "/home/ops/ml-env", "user": None, "caches": places}
    assert (task.kind, dict(task.arguments)) == ("clear_caches", told), "found by the query, not by the step's `env`"
    assert task.display.splitlines() == [
        "remove 312 entries (1.1 GiB) of /home/ops/.triton/cache",
        "remove 2 entries (4.0 KiB) of /v",
    ]


def test_another_users_caches(arguments, facts):
    kind = KIND.read(arguments(venv="/srv/venv", user="sglang"))
    query = Query("kernel_caches", {"venv": "/srv/venv", "holders": True}, "sglang")
    assert kind.queries() == (query,)
    assert kind.describe() == "remove sglang's kernels that do not go with /srv/venv"
    as_root = facts({query: TOLD}).seen_by("root")
    assert kind.job(as_root).stages[0].arguments["user"] == "sglang"
    refused = kind.job(facts({query: TOLD}).seen_by("ops"))
    assert refused == CannotAct(
        "ops may not remove what is sglang's", "Write `user: sglang` on the step itself, or `become: true`."
    )


@pytest.mark.parametrize(
    ("answer", "summary"),
    [
        (Failed("cannot look into /home/ops/ml-env: Permission denied"), "which kernels are stale: cannot look into"),
        ({**TOLD, "exists": False, "environment": False}, "there is no environment at /home/ops/ml-env"),
    ],
)
def test_what_keeps_it_from_starting(kind, facts, answer, summary):
    refused = kind.job(facts({ASKED: answer}))
    assert isinstance(refused, CannotAct)
    assert summary in refused.summary


def test_files_and_bytes_are_foretold(kind, facts):
    foretold = kind.predict(facts({ASKED: TOLD, PLAIN: TOLD}))
    assert foretold.changes == (
        Change("cache", "/home/ops/.triton/cache", "2720 files (1.2 GiB)", "224 files (102 MiB)"),
        Change("cache", "/v", "9 files (4.0 KiB)", None),
    )
    assert set(foretold.answers) == {ASKED, PLAIN}
    after = facts({ASKED: TOLD, PLAIN: TOLD}).foreseen(foretold.answers)
    (condition,) = kind.implied()
    verdict = NO_STALE_CACHES.read(condition.arguments).evaluate(after)
    assert (condition.kind, verdict.status) == ("no_stale_caches", Status.HELD)


def test_each_entry_that_would_go_is_named(kind, facts):
    few = kind.predict(facts({ASKED: {**TOLD, "caches": [stale(2)]}}))
    assert few.details == ("- /c/00 (2.0 KiB, written 2025-10-09)", "- /c/01 (1.0 KiB, written 2025-10-09)")
    many = kind.predict(facts({ASKED: {**TOLD, "caches": [stale(312), stale(1, "/d")]}}))
    assert len(many.details) == 20 + 1 + 1
    assert many.details[19:21] == ("- /c/19 (293 KiB, written 2025-10-09)", "  and 292 more of triton in /c")
    several = kind.predict(facts({ASKED: {**TOLD, "caches": [stale(312, f"/{index}") for index in range(9)]}}))
    assert sum(line.startswith("- /8/") for line in several.details) == 5, "of each cache some, in sixty lines of all"
    assert len(several.details) == 9 * 6


def test_what_is_stale_now_is_named_where_nothing_can_be_foretold(kind, facts):
    assert kind.standing_lines(facts({ASKED: {**TOLD, "caches": [stale(2)]}})) == (
        "as things stand now this is stale:",
        "- /c/00 (2.0 KiB, written 2025-10-09)",
        "- /c/01 (1.0 KiB, written 2025-10-09)",
        "by then more may be, of what is in",
        "  /c (340 entries (1.2 GiB))",
    )
    fresh = {**ROW, "stale_entries": 0, "examples": []}
    assert kind.standing_lines(facts({ASKED: {**TOLD, "caches": [fresh]}})) == (
        "as things stand now nothing is stale",
        "by then more may be, of what is in",
        "  /home/ops/.triton/cache (340 entries (1.2 GiB))",
    )
    assert kind.standing_lines(facts({ASKED: {**TOLD, "caches": []}})) == ("as things stand now nothing is stale",)


@pytest.mark.parametrize("count", [0, 1])
def test_what_was_not_counted_wholly_is_not_called_complete(kind, facts, count):
    said = kind.standing_lines(facts({ASKED: {**TOLD, "complete": False, "caches": [stale(count)]}}))
    what = "this" if count else "nothing"
    assert said[0].removesuffix(":") == f"as things stand now {what} is stale, as far as was counted"
    assert said[-1] == "  /c (at least 340 entries (1.2 GiB))"


def test_what_stands_now_has_room_in_a_report(kind, facts):
    many = [stale(312, f"/{index}") for index in range(14)]
    said = kind.standing_lines(facts({ASKED: {**TOLD, "caches": many}}))
    assert len(said) <= 60
    assert [sum(line.startswith(f"- /{index}/") for line in said) for index in range(14)] == [1] * 14
    assert said[-2:] == ("  /9 (340 entries (1.2 GiB))", "  and 4 more caches")


@pytest.mark.parametrize("answer", [Failed("x"), {**TOLD, "exists": False, "environment": False}])
def test_of_what_is_not_known_nothing_stands(kind, facts, answer):
    assert kind.standing_lines(facts({ASKED: answer})) == ()


def test_facts_that_were_recorded_earlier_name_what_they_know(kind, facts):
    assert kind.predict(facts({ASKED: {**TOLD, "caches": [ROW]}})).details == (
        "- /home/ops/.triton/cache/4XQ",
        "  and 311 more of triton in /home/ops/.triton/cache",
    )


def test_a_file_may_bear_any_time(kind, facts):
    row = stale(1) | {"stale": [{"path": "/c/00", "bytes": 5, "written": 10**15}]}
    assert kind.predict(facts({ASKED: {**TOLD, "caches": [row]}})).details == (
        "- /c/00 (5 B, written at 1000000000000000 s)",
    )


def test_what_cannot_be_looked_into_is_told(kind, facts):
    blind = {**ROW, "blind": ["/c/a: Permission denied", "/c/b: Input/output error"], "blind_folders": 5}
    (note,) = kind.notes(facts({ASKED: {**TOLD, "caches": [blind]}}))
    assert note.summary == (
        f"5 folders in {ROW['path']} cannot be looked into and stay: "
        "/c/a: Permission denied, /c/b: Input/output error and 3 more"
    )


def test_where_a_link_leads_is_reached_too(kind, facts):
    led = {**ROW, "real": "/data/triton"}
    below = Query("file", {"path": "/data/triton/4XQ"})
    asked = facts({ASKED: {**TOLD, "caches": [led]}, below: Known({})})
    assert below in kind.reach(asked)
    assert kind.predict(asked).answers[below] == Unknown("kernels are removed there")


def test_other_users_and_environments_are_left_alone(kind, facts):
    theirs = Query("kernel_caches", {"venv": "~/ml-env"}, "sglang")
    other = Query("kernel_caches", {"venv": "~/other"})
    asked = facts({ASKED: TOLD, theirs: TOLD, other: {**TOLD, "path": "/home/ops/other"}})
    assert set(kind.predict(asked).answers) == {ASKED}


def test_another_name_of_the_environment_is_told_the_same(kind, facts):
    link = Query("kernel_caches", {"venv": "~/current"})
    led = {**TOLD, "path": "/home/ops/current", "through": ["/home/ops/current", TOLD["path"]]}
    foretold = kind.predict(facts({ASKED: TOLD, link: led}))
    assert set(foretold.answers) == {ASKED, link}
    assert foretold.answers[link].value["path"] == "/home/ops/current"


def test_nothing_is_guessed(kind, facts):
    assert kind.predict(facts({ASKED: Unknown("no reason")})) == Unknown(
        "which kernels are stale is not known: no reason"
    )
    partial = kind.predict(facts({ASKED: {**TOLD, "complete": False}}))
    assert partial == Unknown("there are more kernels than were counted")
    display = kind.job(facts({ASKED: {**TOLD, "complete": False, "caches": [stale(30)]}})).display
    assert display.splitlines()[0] == "remove at least 30 entries (1.1 GiB) of /c"
    assert display.splitlines()[1:3] == [f"- /c/0{index} ({30 - index}.0 KiB, written 2025-10-09)" for index in (0, 1)]
    assert ("cache", "/v") in kind.state(facts({ASKED: {**TOLD, "complete": False}}))
    assert kind.state(facts({ASKED: Failed("x")})) == {}


def test_nothing_to_do_changes_nothing(kind, facts):
    clean = {**TOLD, "caches": [{**ROW, "stale_entries": 0, "stale_files": 0, "stale_bytes": 0, "reasons": []}]}
    assert kind.job(facts({ASKED: clean})).display == "remove nothing: no kernel is stale"
    assert kind.predict(facts({ASKED: clean})).changes == ()


def test_who_has_kernels_open_is_told(kind, facts):
    holder = {"pid": 41233, "name": "python", "tool": "triton"}
    (note,) = kind.notes(facts({ASKED: {**TOLD, "holders": [holder]}}))
    assert (note.severity, note.summary) == (Severity.NOTE, "process 41233 (python) has kernels of triton open")
    assert kind.notes(facts({ASKED: Failed("x")})) == ()


def test_what_would_be_left_is_told_beside_what_is_removed(kind, facts):
    mixed = {"mixed_entries": 2, "strays": ["/home/ops/.triton/cache/7", "/home/ops/.triton/cache/8/x"]}
    one = {"mixed_entries": 1, "strays": ["/v/0f/thesis.docx"]}
    told = {**TOLD, "caches": [{**ROW, **mixed}, {**ALL_STALE, **one}]}
    assert [note.summary for note in kind.notes(facts({ASKED: told}))] == [
        f"2 folders of old kernels in {ROW['path']} would be left: {', '.join(mixed['strays'])} are not triton's",
        "1 folder of old kernels in /v would be left: /v/0f/thesis.docx is not vllm's",
    ]
    assert kind.job(facts({ASKED: told})).display == kind.job(facts({ASKED: TOLD})).display


def test_it_reaches_no_package(kind, facts):
    packages, below = Query("distributions", {"venv": "~/ml-env"}), Query("file", {"path": "/v/torch_compile_cache"})
    asked = facts({ASKED: TOLD, PLAIN: TOLD, packages: Known({}), below: Known({})})
    assert kind.reach(asked) == {ASKED, PLAIN, below}
    assert kind.predict(asked).answers[below] == Unknown("kernels are removed there")
    assert kind.reach(facts({ASKED: Failed("x")})) is None, "then it may be anything"
