"""What an installer reads of the node, where earlier steps write it."""

from dataclasses import replace

import pytest

from stackplan.actions._foretold import WILL_HOLD
from stackplan.actions._target import target_query
from stackplan.actions.python_packages import KIND
from stackplan.model.facts import Failed, Known, Unknown
from stackplan.model.kind import Prediction

THERE = {"path": "/home/ops/req.txt", "kind": "file", "sha256": "a" * 64}
DONE = {"refused": None, "changes": [], "metadata": {}, "made": None, "index_findings": []}


def query(path):
    return target_query(path, follow=True)


@pytest.fixture
def ask(arguments, environment_facts):
    """Return a function: the dry runs and the prediction of a step, given what stands at a path."""

    def build(path, answer, **values):
        kind = KIND.read(arguments(venv="~/ml-env", **values))
        assert query(path) in kind.queries()
        assert query(path) in kind.reads()
        facts = environment_facts(("aa", "1.0"))
        facts = replace(facts, answers={**facts.answers, query(path): answer})
        dry_runs = kind.forecast(facts)
        told = dict.fromkeys(dry_runs, Known(DONE))
        return dry_runs, kind.predict(replace(facts, answers={**facts.answers, **told}))

    return build


@pytest.mark.parametrize("key", ["requirements", "constraints", "overrides"])
def test_the_lines_that_an_earlier_step_writes_stand_in_for_the_file(ask, key):
    values = {key: "~/req.txt"} | ({} if key == "requirements" else {"packages": ["aa"]})
    (as_it_is,), _ = ask("~/req.txt", Known(THERE), **values)
    assert "/home/ops/req.txt" in as_it_is.arguments["install"]["argv"], "the negative control"
    (dry_run,), prediction = ask("~/req.txt", Known({**THERE, WILL_HOLD: "aa<2\n"}), **values)
    assert {"file": "aa<2\n"} in dry_run.arguments["install"]["argv"]
    assert "/home/ops/req.txt" not in dry_run.arguments["install"]["argv"]
    assert isinstance(prediction, Prediction)


@pytest.mark.parametrize(
    "answer",
    [
        Unknown("it depends on what is at ~/b by then"),
        Known({**THERE, WILL_HOLD: None}),
        Known({**THERE, WILL_HOLD: "-r other.txt\n"}),
        Known({**THERE, WILL_HOLD: "aa\n./wheels/bb-1.0-py3-none-any.whl\n"}),
        Known({**THERE, WILL_HOLD: "aa @ file:///tmp/aa.whl\n"}),
    ],
)
def test_of_a_file_of_which_nobody_knows_what_it_will_hold_nothing_is_foretold(ask, answer):
    dry_runs, prediction = ask("~/req.txt", answer, requirements="~/req.txt")
    assert dry_runs == ()
    assert isinstance(prediction, Unknown)
    assert "~/req.txt" in prediction.why


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("~/w/aa-1.0-py3-none-any.whl", {"packages": ["~/w/aa-1.0-py3-none-any.whl"]}),
        ("~/w/aa-1.0-py3-none-any.whl", {"packages": ["./w/aa-1.0-py3-none-any.whl[x]"]}),
        ("/w/aa-1.0.whl", {"packages": ["aa @ file:///w/aa-1.0.whl"]}),
        ("/w/aa-1.0.whl", {"packages": ["file:///w/aa-1.0.whl"]}),
        ("~/wheels", {"packages": ["aa"], "find_links": ["~/wheels"]}),
        ("/wheels", {"packages": ["aa"], "find_links": ["file:///wheels"]}),
    ],
)
def test_a_wheel_or_a_folder_that_is_written_is_not_foretold(ask, path, values):
    dry_runs, prediction = ask(path, Known({**THERE, WILL_HOLD: "x"}), **values)
    assert dry_runs == ()
    assert "only once that has run can it be told" in prediction.why
    assert len(ask(path, Known(THERE), **values)[0]) == 1, "the negative control"


def test_what_cannot_be_looked_at_is_left_to_the_installer(ask):
    assert len(ask("~/req.txt", Failed("Permission denied"), requirements="~/req.txt")[0]) == 1


def test_names_and_addresses_are_no_paths(arguments):
    kind = KIND.read(
        arguments(
            venv="~/ml-env", packages=["aa", "bb @ https://x/bb-1.0.whl"], find_links=["https://x/links"], no_deps=True
        )
    )
    assert kind.reads() == ()
