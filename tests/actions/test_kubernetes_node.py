"""`kubernetes_node`: what is refused, what the node is told, what is foretold and stated. kubectl: tests/kubernetes."""

import dataclasses

import pytest

from stackplan.actions.kubernetes_node import KIND
from stackplan.model.change import Change
from stackplan.model.diagnosis import Invalid
from stackplan.model.facts import Failed, Query, Unknown
from stackplan.model.job import Exited
from stackplan.model.kind import CannotAct
from stackplan.model.outcome import Reason

QUERY = Query("kubernetes_node", {})
POD = {"name": "ml/web", "owner": "ReplicaSet", "empty_dir": False, "ending": False}
OPEN = {"node": "gpu-01", "unschedulable": False, "ready": True, "mark": None, "version": "4711", "pods": [POD]}
OURS = {**OPEN, "unschedulable": True, "mark": "root@gpu-01 2026-12-02T00:40:08Z", "pods": []}
THEIRS = {**OURS, "mark": None}
BUDGET = "disruption budget ml/keep lets no pod go: 1 of 1 needed are healthy"


@pytest.fixture
def drain(arguments):
    return lambda **values: KIND.read(arguments(state="drain", **values))


@pytest.fixture
def uncordon(arguments):
    return KIND.read(arguments(state="uncordon"))


@pytest.mark.parametrize(
    ("values", "summary"),
    [
        ({"state": "resume"}, "`state` is not drain or uncordon"),
        ({"state": "uncordon", "grace": "30s"}, "`grace` belongs to `state: drain`"),
        ({"state": "uncordon", "force": True}, "`force` belongs to `state: drain`"),
        ({"state": "drain", "on_timeout": "leave"}, "`on_timeout` is not take-back or stay"),
        ({"state": "drain", "node": "GPU 01"}, "`node` is not a node's name in Kubernetes"),
    ],
)
def test_refused_in_the_playbook(arguments, values, summary):
    with pytest.raises(Invalid, match=summary):
        KIND.read(arguments(**values))


def test_the_tasks(drain, uncordon, facts):
    (task,) = drain(timeout="2m", grace="30s").job(facts({QUERY: OPEN})).stages
    assert task.display == "kubectl drain gpu-01 --ignore-daemonsets --timeout=120s"
    assert task.arguments == {
        "node": "gpu-01",
        "state": "drain",
        "timeout_s": 120.0,
        "grace_s": 30.0,
        "stay": False,
        "delete_emptydir_data": False,
        "force": False,
    }
    (task,) = uncordon.job(facts({QUERY: OURS})).stages
    assert task.arguments == {"node": "gpu-01", "state": "uncordon", "timeout_s": 60.0}


def test_the_kubeconfig_of_the_steps_environment_counts_and_is_stated_too(arguments):
    written = dataclasses.replace(arguments(state="drain"), step_environment={"KUBECONFIG": "/root/ops.conf"})
    kind = KIND.read(written)
    assert kind.queries() == (Query("kubernetes_node", {"kubeconfig": "/root/ops.conf"}),)
    (condition,) = kind.implied()
    assert condition.arguments.values == {"state": "undisturbed", "kubeconfig": "/root/ops.conf"}


@pytest.mark.parametrize(
    ("pod", "values", "summary"),
    [
        ({"owner": None}, {}, "no controller that starts them anew: ml/web"),
        ({"owner": None}, {"delete_emptydir_data": True}, "no controller that starts them anew: ml/web"),
        ({"empty_dir": True}, {"force": True}, "emptyDir volumes, which are gone with them: ml/web"),
    ],
)
def test_what_would_be_lost_keeps_it_from_acting(drain, facts, pod, values, summary):
    refused = drain(**values).job(facts({QUERY: {**OPEN, "pods": [{**POD, **pod}]}}))
    assert isinstance(refused, CannotAct)
    assert summary in refused.summary


@pytest.mark.parametrize("answer", [Unknown("there is no program kubectl"), Failed("refused")])
def test_what_is_not_known_keeps_it_from_acting_and_from_foretelling(drain, facts, answer):
    refused = drain().job(facts({QUERY: answer}))
    assert isinstance(refused, CannotAct)
    assert answer.why in refused.summary
    assert drain().predict(facts({QUERY: answer})) == Unknown("how the node stands in Kubernetes is not known")


def test_a_drain_and_an_uncordon_foretold_in_a_row_lead_back(drain, uncordon, facts):
    drained = drain().predict(facts({QUERY: OPEN}))
    assert drained.changes == (Change("kubernetes", "gpu-01", "schedulable", "drained (stackplan)"),)
    assert drained.details == ("evicts ml/web",)
    back = uncordon.predict(facts({QUERY: drained.answers[QUERY]}))
    assert back.changes == (Change("kubernetes", "gpu-01", "drained (stackplan)", "schedulable"),)


def test_what_others_cordoned_is_foretold_to_stay(drain, uncordon, facts):
    assert uncordon.predict(facts({QUERY: THEIRS})).changes == ()
    foretold = drain().predict(facts({QUERY: {**THEIRS, "pods": [POD]}}))
    (change,) = foretold.changes
    assert change.after == "drained (cordoned by somebody else)"
    assert foretold.answers[QUERY].value["mark"] is None


@pytest.mark.parametrize(
    ("output", "after", "found", "causes"),
    [
        (
            f"{BUDGET}\nstackplan: after 20m gpu-01 is not empty: ml/web; ml/db",
            OPEN,
            "SP291 Pods are still on gpu-01 after 20m. It is not left cordoned",
            (BUDGET, "ml/web", "ml/db"),
        ),
        ("stackplan: after 5s gpu-01 is not empty: ml/web", OURS, "SP291", ("ml/web",)),
        ('Error from server (Forbidden): nodes "gpu-01" is forbidden', OPEN, "SP292", ()),
    ],
)
def test_failures(evidence, arguments, facts, output, after, found, causes):  # noqa: PLR0917 - fixtures and a case
    read = arguments(state="drain", timeout="1h")
    seen = evidence(read, (), code=1, output=output, reason=Reason.ACTION)
    (diagnosis,) = KIND.read(read).diagnose(dataclasses.replace(seen, after=facts({QUERY: after})))
    assert f"{diagnosis.code} {diagnosis.summary}".startswith(found)
    assert diagnosis.causes == causes


def test_a_failure_that_nothing_is_known_of_is_not_explained(evidence, arguments, facts):
    read = arguments(state="drain")
    seen = dataclasses.replace(evidence(read, ()), ending=Exited(1), after=facts({QUERY: OPEN}))
    assert KIND.read(read).diagnose(seen) == ()
