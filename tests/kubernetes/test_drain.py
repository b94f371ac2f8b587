"""`kubernetes_node` with the real kubectl against a stand-in of an API server (tests/kubernetes/stand_in.py)."""

import pytest

from stackplan.model.change import Change
from stackplan.model.facts import Failed, Query, Unknown
from stackplan.model.job import Exited
from tests.node.waiting import wait_until

ANNOTATION = "stackplan.dev/drained-by"


def drain(node, **values):
    return node.act("kubernetes_node", **{"state": "drain", "timeout": "30s", **values})


def uncordon(node, **values):
    return node.act("kubernetes_node", **{"state": "uncordon", **values})


def cordoned(server):
    return server.nodes["gpu-01"]["spec"].get("unschedulable", False)


def mark(server):
    return server.nodes["gpu-01"]["metadata"].get("annotations", {}).get(ANNOTATION)


def test_a_node_is_emptied_and_given_back(node, server):
    server.add_pod("web", "gpu-01")
    server.add_pod("metrics", "gpu-01", owner="DaemonSet")
    server.add_pod("done", "gpu-01", owner="Job", phase="Succeeded")
    server.add_pod("elsewhere", "gpu-02")
    ending, output, changes = drain(node)
    assert ending == Exited(0), output
    assert changes == (Change("kubernetes", "gpu-01", "schedulable", "drained (stackplan)"),)
    assert set(server.pods) >= {"metrics", "elsewhere"}
    assert "web" not in server.pods
    assert cordoned(server)
    assert "@" in mark(server)

    ending, output, changes = uncordon(node)
    assert ending == Exited(0), output
    assert changes == (Change("kubernetes", "gpu-01", "drained (stackplan)", "schedulable"),)
    assert not cordoned(server)
    assert mark(server) is None


def test_what_was_cordoned_before_stays_cordoned(node, server):
    server.nodes["gpu-01"]["spec"]["unschedulable"] = True
    server.add_pod("web", "gpu-01")
    ending, output, _ = drain(node)
    assert ending == Exited(0), output
    assert "cordoned by somebody else" in output
    assert (cordoned(server), mark(server)) == (True, None)
    ending, output, changes = uncordon(node)
    assert (ending, changes) == (Exited(0), ()), output
    assert cordoned(server)
    assert [it for it in server.requests if it[0] == "PATCH"] == []


def test_somebody_who_cordons_in_the_same_moment_keeps_his_cordon(node, server):
    def faster(name):
        server.nodes[name]["spec"]["unschedulable"] = True
        server.touch(name)

    server.before_patch = faster
    ending, output, _ = drain(node)
    assert ending == Exited(0), output
    assert (cordoned(server), mark(server)) == (True, None)


def test_a_node_that_only_reported_meanwhile_is_cordoned_all_the_same(node, server):
    def reports(name):
        server.before_patch = lambda name: None
        server.touch(name)

    server.before_patch = reports
    ending, output, _ = drain(node)
    assert ending == Exited(0), output
    assert mark(server) is not None


def test_a_budget_that_lets_no_pod_go_costs_the_wait_and_is_named(node, server):
    server.add_pod("web", "gpu-01", labels={"app": "web"})
    server.add_budget("keep-web", {"app": "web"}, allowed=0)
    server.add_budget("other", {"app": "other"}, allowed=0)
    ending, output, changes = drain(node, timeout="1s")
    assert ending == Exited(1)
    assert "gpu-01 is not empty: ml/web" in output
    assert "disruption budget ml/keep-web lets no pod go: 1 of 1 needed are healthy" in output
    assert "ml/other" not in output
    assert changes == ()
    assert (cordoned(server), mark(server)) == (False, None), "the cordon is taken back"


def test_a_pod_that_does_not_end_is_named_and_the_cordon_stays_where_that_is_wanted(node, server):
    server.add_pod("web", "gpu-01", lasting=True)
    ending, output, _ = drain(node, timeout="1s", on_timeout="stay")
    assert ending == Exited(1)
    assert "gpu-01 is not empty: ml/web" in output
    assert cordoned(server)


def test_a_drain_that_is_ended_takes_the_cordon_back(node, server):
    server.add_pod("web", "gpu-01", lasting=True)
    name, _ = node.start("kubernetes_node", state="drain", timeout="60s")
    wait_until(lambda: "deletionTimestamp" in server.pods["web"][0]["metadata"], 60)
    node.open().terminate(name, grace_s=30)
    _, output = node.watch(name)
    assert not cordoned(server), output


@pytest.mark.parametrize(
    ("pod", "values", "summary"),
    [
        ({"owner": None}, {}, "have no controller that starts them anew: ml/web"),
        ({"empty_dir": True}, {}, "keep data in emptyDir volumes, which are gone with them: ml/web"),
    ],
)
def test_pods_that_would_be_lost_are_not_touched(node, server, pod, values, summary):
    server.add_pod("web", "gpu-01", **pod)
    assert summary in node.refusal("kubernetes_node", state="drain", **values).summary
    ending, output, _ = drain(node, force=True, delete_emptydir_data=True)
    assert ending == Exited(0), output
    assert server.pods == {}


def test_credentials_that_do_not_suffice(node, server):
    server.forbidden = True
    ending, output, changes = drain(node)
    assert (ending, changes) == (Exited(1), ())
    assert "cannot patch resource" in output


def test_a_node_that_somebody_uncordons_is_seen(node, server):
    drain(node)
    del server.nodes["gpu-01"]["spec"]["unschedulable"]
    ending, output, _ = uncordon(node)
    assert ending == Exited(0), output
    assert mark(server) is None


def test_which_node_this_machine_is(node, server):
    query = Query("kubernetes_node", {})
    assert node.ask(query)[query].value["node"] == "gpu-01"
    other = Query("kubernetes_node", {"node": "gpu-09"})
    assert node.ask(other)[other] == Unknown("Kubernetes has no node gpu-09")


def test_no_api_server(node, server):
    server.shutdown()
    server.server_close()
    query = Query("kubernetes_node", {"node": "gpu-01"})
    answer = node.ask(query)[query]
    assert isinstance(answer, Failed)
    assert answer.why.startswith("kubectl get nodes: ")
