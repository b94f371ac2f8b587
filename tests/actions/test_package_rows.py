"""Environments that hold the same packages go the same way, whatever their folders are called: worked out once."""

import pytest

from stackplan.actions._dry_run import read_dry_run
from stackplan.actions._predicted import Environment
from stackplan.model.distribution import distributions, named, package_state
from stackplan.model.facts import Known

ROWS = [
    {"name": "torch", "version": "2.10.0+cu128", "folder": "torch-2.10.0+cu128.dist-info", "record_sha256": "a"},
    {"name": "My_App", "version": "1.0", "folder": "my_app-1.0.dist-info", "record_sha256": "b"},
]
CHANGES = [{"name": "torch", "before": "2.10.0+cu128", "after": "2.11.0+cu130"}]
METADATA = {}


def environment(home, rows=ROWS):
    return {"path": f"/{home}/ml-env", "exists": True, "environment": True, "distributions": rows}


def dry_run(home, changes=CHANGES):
    return read_dry_run(
        Known({"path": f"/{home}/ml-env", "changes": changes, "metadata": METADATA, "made": None, "index_findings": []})
    )


def test_what_follows_from_the_same_rows_is_the_very_same():
    one, two = (Environment.read(environment(home)).after(dry_run(home)) for home in ("one", "two"))
    assert one.rows is two.rows
    first, second = one.answer(), two.answer()
    assert first["path"] != second["path"]
    assert first["distributions"] is second["distributions"]
    assert package_state(Known(first)) is package_state(Known(second))
    assert one.without(("torch",)).rows is two.without(("torch",)).rows


@pytest.mark.parametrize("other", [[*ROWS, {**ROWS[0], "name": "x", "folder": "x-1.dist-info"}], ROWS[:1]])
def test_other_rows_are_not_taken_for_the_same(other):
    one = Environment.read(environment("one")).after(dry_run("one"))
    two = Environment.read(environment("one", other)).after(dry_run("one"))
    assert {row["name"] for row in two.rows} == {row["name"] for row in other}
    assert {row["name"] for row in one.rows} == {"torch", "My_App"}


def test_another_dry_run_is_not_taken_for_the_same():
    start = Environment.read(environment("one"))
    gone = start.after(dry_run("one", [{"name": "torch", "before": "2.10.0+cu128", "after": None}]))
    assert [row["name"] for row in gone.rows] == ["My_App"]
    assert [row["version"] for row in start.after(dry_run("one")).rows] == ["1.0", "2.11.0+cu130"]


def test_distributions_are_found_by_their_canonical_name():
    answer = Known(environment("one"))
    assert [it.name for it in distributions(answer)] == ["torch", "My_App"]
    assert [it.name for it in named(answer, "my-app")] == ["My_App"]
    assert named(answer, "none") == ()
