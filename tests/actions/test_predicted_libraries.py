"""What of an environment's CUDA libraries is foretold once packages change: what stays is known, what comes is not."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from stackplan.actions._predicted_libraries import libraries_answer
from stackplan.actions.python_packages import KIND
from stackplan.conditions.cuda_coherent import CudaCoherent
from stackplan.model.facts import Failed, Known, Query
from stackplan.model.verdict import Status

RECORDED = Path(__file__).parents[1] / "facts" / "cuda_coherent" / "kernels-of-cuda-12.json"
QUERY = Query("cuda_libraries", {"venv": "~/ml-env"})
TORCH = Query("torch", {"venv": "~/ml-env"})


@pytest.fixture
def before():
    """The answer of a node with torch 2.14.1 for CUDA 13 and sgl-kernel for CUDA 12."""
    (row,) = [it for it in json.loads(RECORDED.read_text())["answers"] if it["kind"] == "cuda_libraries"]
    return Known(row["known"])


def names(answer):
    return [row["name"] for row in answer.value["distributions"]]


def test_what_changes_is_unseen_and_the_rest_stays(before):
    after = libraries_answer(before, {}, frozenset({"torch", "sglang"}), frozenset({"torch", "sglang", "sgl-kernel"}))
    assert names(after) == [name for name in names(before) if name != "torch"]
    assert after.value["unseen"] == ["sglang", "torch"]


def test_what_is_taken_away_leaves_nothing_open(before):
    after = libraries_answer(before, {}, frozenset({"sgl-kernel"}), frozenset({"torch"}))
    assert "sgl-kernel" not in names(after)
    assert after.value["unseen"] == []


def test_of_libraries_that_are_taken_away_it_is_open_who_needs_them(before):
    after = libraries_answer(before, {}, frozenset({"nvidia-cublas"}), frozenset({"torch"}))
    assert after.value["unseen"] == ["nvidia-cublas"]


def test_what_was_unseen_stays_unseen(before):
    first = libraries_answer(before, {}, frozenset({"torch"}), frozenset({"torch"}))
    second = libraries_answer(first, {}, frozenset({"sglang"}), frozenset({"torch", "sglang"}))
    assert second.value["unseen"] == ["sglang", "torch"]


def test_what_was_not_answered_stays_so():
    failed = Failed("cannot look into ~/ml-env")
    assert libraries_answer(failed, {}, frozenset({"torch"}), frozenset()) is failed


@pytest.fixture
def foretold(arguments, environment_facts, before):
    """Return what gives the verdict foretold of a step that installs a package into the node of `before`."""

    def judge(name, after, requires=(), cuda="13.0"):
        kind = KIND.read(arguments(venv="~/ml-env", packages=[name], upgrade=True))
        facts = environment_facts(("torch", "2.14.1"), ("sgl-kernel", "0.3.21"), ("nvidia-cuda-runtime", "13.0.96"))
        torch = {**before.value, "installed": True, "version": "2.14.1+cu130", "cuda": "13.0", "file": "x"}
        facts = replace(facts, answers={**facts.answers, QUERY: before, TORCH: Known(torch)})
        (query,) = kind.forecast(facts)
        about = {"name": name, "version": after, "requires": list(requires), "requires_python": None, "why": None}
        about |= {"provides_extra": [], "folder": f"{name.replace('-', '_')}-{after}.dist-info"}
        moves = {"refused": None, "changes": [{"name": name, "before": None, "after": after}], "made": None}
        dry_run = Known({**moves, "metadata": {name: about}, "index_findings": []})
        prediction = kind.predict(replace(facts, answers={**facts.answers, query: dry_run}))
        condition = CudaCoherent.read(arguments(venv="~/ml-env", cuda=cuda))
        return condition.evaluate(facts.foreseen(prediction.answers))

    return judge


def test_kernels_that_stay_are_red_before_torch_is_touched(foretold):
    verdict = foretold("torch", "2.15.0+cu130")
    assert verdict.status is Status.NOT_HELD
    assert verdict.observed.startswith("sgl-kernel 0.3.21 needs libcublas.so.12, libcudart.so.12, libnvrtc.so.12")


def test_kernels_that_are_replaced_are_not_known_before_they_are_there(foretold):
    verdict = foretold("sgl-kernel", "0.3.21+cu130")
    assert verdict.status is Status.UNKNOWN
    assert verdict.why == "what the files of sgl-kernel need is not known before it is installed"


def test_a_label_of_another_cuda_is_red(foretold):
    verdict = foretold("sgl-kernel", "0.3.22+cu128")
    assert (verdict.status, verdict.observed) == (
        Status.NOT_HELD,
        "sgl-kernel 0.3.22+cu128 is labelled for another CUDA",
    )


def test_a_torch_without_label_is_told_by_what_it_requires(foretold):
    verdict = foretold("torch", "2.9.1", ["nvidia-cublas-cu12==12.8.4.1; platform_system == 'Linux'"])
    assert verdict.status is Status.NOT_HELD
    assert verdict.observed.startswith("torch 2.9.1 requires the libraries of CUDA 12")


def test_libraries_that_only_the_old_torch_loads_are_no_offence(foretold):
    verdict = foretold("torch", "2.9.1+cu128", cuda="12.8")
    assert verdict.status is Status.UNKNOWN
    assert verdict.why == "what the files of torch need is not known before it is installed"
