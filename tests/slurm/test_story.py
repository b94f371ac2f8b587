"""The whole story over sshd, with Debian's Slurm: drained, upgraded, given back; what stops between stays drained."""

import pytest

from tests.sshd.conftest import index, make_site, site, uv_cache  # noqa: F401 - fixtures
from tests.sshd.node import SSHD

pytestmark = pytest.mark.skipif(SSHD is None, reason="OpenSSH's sshd is not installed")

PLAYBOOK = """
stackplan: 1
name: p
nodes: all
steps:
  - id: drain
    slurm_node: {state: drain, reason: CUDA 13, timeout: 60s}
    postconditions:
      - any:
          - slurm_node: {state: drained}
          - file: {path: ~/upgraded}
  - id: upgrade
    run: {script: "SCRIPT"}
    postconditions:
      - file: {path: ~/upgraded}
  - id: resume
    slurm_node: {state: resume}
    postconditions:
      - slurm_node: {state: resumed}
"""


@pytest.fixture
def apply(site, cluster):  # noqa: F811 - a fixture
    """Return a function that applies the playbook with this script for the upgrade."""
    (node,) = site.nodes.values()
    for program in ("scontrol", "squeue"):
        wrapper = node.sandbox.programs / program
        wrapper.write_text(f'#!/bin/sh\nSLURM_CONF={cluster.folder}/slurm.conf exec /usr/bin/{program} "$@"\n')
        wrapper.chmod(0o755)
    return lambda script, check: site.apply(site.playbook(PLAYBOOK.replace("SCRIPT", script)), check=check)


def test_a_run_that_stops_leaves_the_node_drained_and_the_next_one_gives_it_back(apply, cluster, site):  # noqa: F811
    stopped = apply("echo no room; exit 1", check=3)
    assert stopped.outcomes() == {"drain": "changed", "upgrade": "failed", "resume": "not-reached"}
    assert [it["after"] for it in stopped.step("drain")["changes"]] == ["drained: CUDA 13 (stackplan)"]
    assert cluster.state() == {"IDLE", "DRAIN"}

    mended = apply("touch ~/upgraded", check=0)
    assert mended.outcomes() == {"drain": "satisfied", "upgrade": "changed", "resume": "changed"}
    assert cluster.state() == {"IDLE"}
    assert cluster.reason() == ""

    again = apply("touch ~/upgraded", check=0)
    assert again.outcomes() == {"drain": "satisfied", "upgrade": "satisfied", "resume": "satisfied"}
    site.run("verify", site.folder / "p.yaml", "-i", site.inventory, check=0)


def test_what_others_drained_before_the_run_is_drained_after_it_for_the_same_reason(apply, cluster):
    cluster.update("State=DRAIN", "Reason=broken fan, ask Ada")
    before = cluster.reason()
    outcome = apply("touch ~/upgraded", check=0)
    wanted = {"drain": "satisfied", "upgrade": "changed", "resume": "satisfied"}
    assert outcome.outcomes() == wanted, outcome.step("drain")
    (resumed,) = outcome.step("resume")["conditions"]
    assert resumed["observed"] == "drained: broken fan, ask Ada (root)"
    assert (cluster.state(), cluster.reason()) == ({"IDLE", "DRAIN"}, before)


def test_a_node_that_somebody_resumes_in_the_middle_stops_the_run_there(apply, cluster):
    outcome = apply("scontrol update NodeName=gpu-01 State=RESUME; touch ~/upgraded", check=3)
    assert (outcome.node["stopped_at"], outcome.node["reason"]) == ("upgrade", "regression")
    assert outcome.step("upgrade")["broke"]["step"] == "drain"


def test_a_plan_foretells_the_whole_story(cluster, site, apply):  # noqa: F811
    number = cluster.submit("sleep 600")
    text = PLAYBOOK.replace('run: {script: "SCRIPT"}', "file: {path: ~/upgraded, content: done}")
    plan = site.run("plan", site.playbook(text), "-i", site.inventory, "--format", "json", check=0)
    assert plan.outcomes() == {"drain": "would-change", "upgrade": "would-change", "resume": "would-change"}
    foretold = {it["id"]: [(row["before"], row["after"]) for row in it["predicted"]] for it in plan.node["steps"]}
    assert foretold["drain"] == [("in service", "drained: CUDA 13 (stackplan)")]
    assert foretold["resume"] == [("drained: CUDA 13 (stackplan)", "in service")]
    shown = site.run("plan", site.folder / "p.yaml", "-i", site.inventory, check=0)
    assert f"waits for job {number} of root (wrap), running" in shown.stdout
    assert cluster.state() == {"MIXED"}
