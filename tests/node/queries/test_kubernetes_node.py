"""`kubernetes_node`: what kubectl's JSON amounts to, and what is said without it. kubectl itself: tests/kubernetes."""

import json

import pytest

from stackplan.node.context import CannotTell, ProbeFailed
from stackplan.node.queries import _kubernetes, kubernetes_node

NODE = {
    "metadata": {"name": "gpu-01", "resourceVersion": "4711", "annotations": {_kubernetes.ANNOTATION: "root@gpu-01"}},
    "spec": {"unschedulable": True},
    "status": {"conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "True"}]},
}


def pod(name, owner=None, **more):
    owners = {"ownerReferences": [{"kind": owner, "controller": True}]} if owner else {}
    metadata = {"name": name, "namespace": "ml", **owners, **more.pop("metadata", {})}
    return {"metadata": metadata, "spec": more.pop("spec", {}), "status": {"phase": more.pop("phase", "Running")}}


@pytest.fixture
def ask(programs, context, tmp_path):
    """Return what the query answers where kubectl lists these nodes and pods; `options` are those that it was given."""

    def answer(nodes, pods=(), **asked):
        for word, items in (("nodes", nodes), ("pods", pods)):
            (tmp_path / word).write_text(json.dumps({"items": list(items)}))
        listing = f'case "$*" in *" nodes "*) cat {tmp_path}/nodes ;; *) cat {tmp_path}/pods ;; esac'
        programs.write("kubectl", f'echo "$*" >> {tmp_path}/calls; {listing}')
        return kubernetes_node.answer(asked, context())

    return answer


def test_the_pods_that_are_to_be_evicted(ask):
    found = ask(
        [NODE],
        [
            pod("web", "ReplicaSet", metadata={"deletionTimestamp": "2026-12-02T00:40:08Z"}),
            pod("loose", spec={"volumes": [{"name": "scratch", "emptyDir": {}}]}),
            pod("metrics", "DaemonSet"),
            pod("done", "Job", phase="Succeeded"),
            pod("static", metadata={"annotations": {"kubernetes.io/config.mirror": "1"}}),
        ],
        node="gpu-01",
    )
    assert found == {
        "node": "gpu-01",
        "unschedulable": True,
        "ready": True,
        "mark": "root@gpu-01",
        "version": "4711",
        "pods": [
            {"name": "ml/web", "owner": "ReplicaSet", "empty_dir": False, "ending": True},
            {"name": "ml/loose", "owner": None, "empty_dir": True, "ending": False},
        ],
    }


def test_where_kubectl_is_sent(ask, tmp_path):
    ask([NODE], node="gpu-01", kubeconfig="~/ops.conf", context="prod")
    calls = (tmp_path / "calls").read_text().splitlines()
    assert all(f"--kubeconfig={tmp_path}/home/ops.conf --context=prod" in call for call in calls)


@pytest.mark.parametrize(
    ("selector", "labels", "covered"),
    [
        ({"matchLabels": {"app": "web"}}, {"app": "web", "tier": "1"}, True),
        ({"matchLabels": {"app": "web"}}, {"app": "db"}, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "db"]}]}, {"app": "db"}, True),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}, {"app": "web"}, False),
        ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, {}, True),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, {}, False),
        ({"matchLabels": {}}, {"app": "db"}, True),
    ],
)
def test_which_pods_a_budget_speaks_of(programs, context, selector, labels, covered):
    budget = {"metadata": {"name": "keep", "namespace": "ml"}, "spec": {"selector": selector}, "status": {}}
    programs.write("kubectl", f"echo '{json.dumps({'items': [budget]})}'")
    cluster = _kubernetes.Cluster(context(), {})
    assert bool(cluster.blocking_budgets([pod("web", metadata={"labels": labels})])) is covered


def test_a_node_that_is_not_there(ask):
    with pytest.raises(CannotTell, match="Kubernetes has no node gpu-09"):
        ask([], node="gpu-09")


@pytest.mark.parametrize(
    ("script", "error", "why"),
    [
        (
            "echo 'The connection to the server was refused' >&2; exit 1",
            ProbeFailed,
            "get nodes: The connection to the",
        ),
        ("echo not json", CannotTell, "does not give a list as JSON"),
        ("echo '{}'", CannotTell, "does not give a list as JSON"),
    ],
)
def test_no_answer(programs, context, script, error, why):
    programs.write("kubectl", script)
    with pytest.raises(error, match=why):
        kubernetes_node.answer({"node": "gpu-01"}, context())


def test_no_kubectl(context):
    with pytest.raises(CannotTell, match="there is no program kubectl"):
        kubernetes_node.answer({"node": "gpu-01"}, context("/nowhere"))
