"""What is made of a dry run's answer: no node, no installer."""

from dataclasses import replace

import pytest

from stackplan.actions._predicted_torch import torch_answer
from stackplan.actions.python_packages import KIND
from stackplan.conditions.torch import Torch
from stackplan.model.distribution import distributions_query
from stackplan.model.facts import Failed, Known, Query, Unknown
from stackplan.model.kind import Prediction
from stackplan.model.verdict import Status

HEAD = {"path": "/home/ops/ml-env", "site_packages": ["/home/ops/ml-env/lib/python3.12/site-packages"]}
NOTHING = {"refused": None, "changes": [], "metadata": {}, "made": None, "index_findings": []}
ABOUT = {
    "name": "torch",
    "version": "2.11.0",
    "requires": ["numpy"],
    "requires_python": None,
    "provides_extra": [],
    "folder": "torch-2.11.0+cu130.dist-info",
    "why": None,
}
MOVES = {
    **NOTHING,
    "changes": [{"name": "torch", "before": "2.10.0+cu128", "after": "2.11.0+cu130"}],
    "metadata": {"torch": ABOUT},
}


@pytest.mark.parametrize(
    ("version", "folder", "told"),
    [
        ("2.11.0+cu130", "torch-2.11.0+cu130.dist-info", ("2.11.0+cu130", "13.0")),
        ("2.7.1+cu118", "torch-2.7.1+cu118.dist-info", ("2.7.1+cu118", "11.8")),
        ("2.9.1", "torch-2.9.1+cu128.dist-info", ("2.9.1+cu128", "12.8")),
        ("2.11.0+cpu", "torch-2.11.0+cpu.dist-info", ("2.11.0+cpu", None)),
    ],
)
def test_torch_is_foretold_from_the_label(version, folder, told):
    answer = torch_answer(HEAD, {"version": version, "folder": folder})
    assert (answer.value["version"], answer.value["cuda"]) == told


@pytest.mark.parametrize("version", ["2.11.0", "2.11.0+git1a2b", "2.11.0+rocm6.4"])
def test_torch_without_a_label_of_cuda_is_unknown(version):
    answer = torch_answer(HEAD, {"version": version, "folder": f"torch-{version}.dist-info"})
    assert answer.value["version"] == version
    assert answer.value["build_unknown"] == "torch's CUDA build cannot be told from its metadata before it is installed"


@pytest.mark.parametrize(
    ("stated", "status"),
    [
        ({"cuda": "13.0"}, Status.UNKNOWN),
        ({"cuda": "none"}, Status.UNKNOWN),
        ({"version": ">=2.9"}, Status.HELD),
        ({"version": ">=2.11", "cuda": "13.0"}, Status.NOT_HELD),
        ({"version": "==2.10.0+cu130"}, Status.UNKNOWN),
    ],
)
def test_of_a_torch_without_a_label_the_version_is_judged_and_the_build_is_not(arguments, facts, stated, status):
    condition = Torch.read(arguments(venv="~/ml-env", **stated))
    head = {"path": "/e", "exists": True, "environment": True, "interpreter_fault": None}
    answer = torch_answer(head, {"version": "2.10.0", "folder": "torch-2.10.0.dist-info"})
    answers = {query: Unknown("not asked") for query in condition.queries()}
    assert condition.evaluate(facts({**answers, condition.queries()[0]: answer})).status is status


def test_torch_that_is_taken_away():
    assert torch_answer(HEAD, None).value["installed"] is False


@pytest.fixture
def predict(arguments, environment_facts):
    """Return a function: the prediction of an upgrade of torch, from an answer to its dry run and answers besides."""

    def build(answer, also=(), **values):
        given = {"packages": ["torch"], "upgrade": True, "index_url": "https://x/cu130", **values}
        kind = KIND.read(arguments(venv="~/ml-env", **given))
        facts = environment_facts(("torch", "2.10.0+cu128"), ("numpy", "2.1.0"))
        facts = replace(facts, answers={**facts.answers, **dict(also)})
        (query,) = kind.forecast(facts)
        return kind.predict(replace(facts, answers={**facts.answers, query: answer}))

    return build


def test_every_question_about_the_environment_is_answered_anew_and_no_other(predict):
    venv, python = {"venv": "~/ml-env"}, {"python": "/home/ops/ml-env/bin/python"}
    concerned = [
        Query("imports", {**venv, "modules": ("torch",)}),
        Query("torch_arch", python),
        Query("file", {"path": "/home/ops/ml-env/bin/torchrun"}),
        Query("command", {"argv": ("/home/ops/ml-env/bin/python", "-V")}),
        Query("command", {"run": "~/ml-env/bin/torchrun --help"}),
        Query("imports", {"venv": "/home/ops/ml-env", "modules": ()}, "root"),
    ]
    others = [
        Query("imports", {"venv": "~/other", "modules": ("torch",)}),
        Query("imports", venv, "root"),
        Query("file", {"path": "/home/ops/ml-env-2/x"}),
        Query("disk", {"path": "~/ml-env"}),
        Query("command", {"run": "nvidia-smi"}),
    ]
    prediction = predict(Known(MOVES), also=[(query, Known({})) for query in concerned + others])
    for query in concerned:
        assert prediction.answers[query] == Unknown("not known before torch is changed")
    assert not set(others) & set(prediction.answers)
    rows = prediction.answers[distributions_query(venv="~/ml-env")].value["distributions"]
    assert [(row["name"], row["version"], row["requires"]) for row in rows] == [
        ("numpy", "2.1.0", []),
        ("torch", "2.11.0", ["numpy"]),
    ]


def test_no_change_lays_nothing_over(predict):
    assert predict(Known(NOTHING)) == Prediction(changes=(), answers={})


@pytest.mark.parametrize(
    ("stated", "refused"),
    [("2.10.0", True), ("2.11.0+cu128", True), ("2.11.0", False), ("2.11.0+CU130", False), ("no version", False)],
)
def test_a_wheel_whose_metadata_is_of_another_version_than_its_name(predict, stated, refused):
    """The label may be missing in the metadata: torch's own wheels are of that kind."""
    lies = {**MOVES, "changes": [{**MOVES["changes"][0], "after": "2.11.0+cu130"}]}
    prediction = predict(Known({**lies, "metadata": {"torch": {**ABOUT, "version": stated}}}))
    assert [it.code for it in prediction.failures] == (["SP209"] if refused else [])
    if refused:
        said = f"the metadata of torch says {stated}, which does not match the name of its file (2.11.0+cu130)"
        assert prediction.failures[0].causes == (said,)


def test_a_wheel_that_is_not_checked(predict):
    lies = Known({**MOVES, "metadata": {"torch": {**ABOUT, "version": "2.10.0"}}})
    assert predict(lies).failures, "the negative control"
    assert not predict(lies, inherit_config=True).failures


def test_requirements_that_nobody_tells_are_not_taken_for_none(predict):
    untold = {"torch": {"why": "it has to be built from source, and tells what it requires only then"}}
    prediction = predict(Known({**MOVES, "metadata": untold}))
    rows = prediction.answers[distributions_query(venv="~/ml-env")].value["distributions"]
    assert [(row["version"], row["fault"]) for row in rows if row["name"] == "torch"] == [
        ("2.11.0+cu130", "unreadable-metadata")
    ]
    assert prediction.details == ("what torch 2.11.0+cu130 requires is not known: " + untold["torch"]["why"],)


def test_an_index_of_which_the_address_is_secret_is_not_shown(predict, secret):
    silent = {**NOTHING, "index_findings": [{"name": "torch", "index": 0, "why": "answered 404 Not Found"}]}
    (detail,) = predict(Known(silent), index_url=type(secret)("https://x/t0ken/cu130")).details
    assert detail.startswith("the index ***, asked for torch, answered 404 Not Found")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Unknown("this uv cannot do a dry run"), "the dry run could not be done: this uv cannot do a dry run"),
        (Failed("uv did not end", "a\nb\n"), "the dry run could not be done: uv did not end (b)"),
    ],
)
def test_a_dry_run_that_could_not_be_done_is_unknown(predict, answer, why):
    assert predict(answer) == Unknown(why)


def test_a_refusal_is_explained_as_the_run_would_be(predict):
    output = "error: No solution found when resolving dependencies\n  cause: Because a conflicts with b.\n"
    refused = {"stage": "install", "reason": "error: No solution found", "output": output, "exit_code": 1}
    first, *_ = predict(Known({**NOTHING, "refused": refused})).failures
    assert (first.code, first.step) == ("SP208", None)
    strange = {**refused, "output": "error: of a new kind", "reason": "error: of a new kind"}
    (only,) = predict(Known({**NOTHING, "refused": strange})).failures
    assert only.summary == "uv would fail: error: of a new kind"


def test_a_step_that_cannot_act_asks_nothing(arguments, environment_facts):
    kind = KIND.read(arguments(venv="~/ml-env", packages=["torch"]))
    facts = environment_facts(uv=None, pip=None)
    assert kind.forecast(facts) == ()
    assert isinstance(kind.predict(facts), Unknown)
