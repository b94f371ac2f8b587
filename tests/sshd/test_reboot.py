"""Nodes that are restarted while a run is at work on them: only another boot is one, and none is restarted twice."""

import os
import subprocess
import sys

import pytest

from stackplan.lab.inventory import LabNode, inventory_text, known_hosts_text
from stackplan.lab.sandbox import Sandbox
from tests.node import waiting
from tests.sshd.conftest import Site
from tests.sshd.machine import Machine, restartable

NEW_KERNEL = "6.8.0-60"
PLAYBOOK = """
stackplan: 1
name: kernel
nodes: all
steps:
  - id: before
    run: {script: "echo before >>~/ran; touch ~/before"}
    postconditions: [{file: {path: ~/before}}]
  - id: restart
    reboot: {timeout: 60s, reason: the new kernel}
    postconditions:
      - command: {run: cat /run/kernel, stdout: {contains: 6.8.0-60}}
  - id: after
    run: {script: "echo after >>~/ran; touch ~/after"}
    postconditions: [{file: {path: ~/after}}]
"""


@pytest.fixture
def machine(tmp_path):
    if not restartable():
        pytest.skip("needs root, process namespaces and the right to mount")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "id"], check=True)
    with Machine(Sandbox(tmp_path / "node"), (tmp_path / "id.pub").read_text().strip()) as machine:
        yield machine


@pytest.fixture
def site(machine, tmp_path):
    node = machine.node
    reached = [LabNode(node.name, node.port, node.host_key, node.user)]
    (tmp_path / "known_hosts").write_text(known_hosts_text(reached))
    inventory = tmp_path / "inventory.yaml"
    inventory.write_text(inventory_text(reached, "http://127.0.0.1:9", tmp_path / "id", tmp_path / "known_hosts"))
    return Site(tmp_path, None, {"gpu-01": node}, inventory, tmp_path / "state")


def applied(site, check, text=PLAYBOOK, *words):
    return site.apply(site.playbook(text), *words, check=check)


def wait_until(holds):
    waiting.wait_until(holds, seconds=60)


def short(boot):
    return boot.partition("-")[0]


def test_a_restarted_node_is_proven_by_its_boot_and_its_kernel_and_the_run_goes_on(site, machine):
    old = machine.boot

    def restart():
        machine.kernel(NEW_KERNEL)
        machine.restart()

    machine.when_asked = restart
    outcome = applied(site, 0)
    assert outcome.outcomes() == {"before": "changed", "restart": "changed", "after": "changed"}
    step = outcome.step("restart")
    (change,) = [it for it in step["changes"] if it["name"] == "boot"]
    assert (change["kind"], change["before"], change["after"]) == ("node", short(old), short(machine.boot))
    assert "stand-in: systemctl --no-ask-password reboot" in step["action"]["output_tail"]
    assert (machine.home / "ran").read_text().split() == ["before", "after"]
    assert machine.restarts == 1
    # Nothing is left to do, so nothing is restarted again.
    again = applied(site, 0)
    assert again.outcomes() == dict.fromkeys(["before", "restart", "after"], "satisfied")
    assert machine.restarts == 1


def test_a_node_that_answers_from_its_old_boot_is_waited_for_until_there_is_a_new_one(site, machine):
    """As a node that is going down does: the programs are ended first, and sshd lets one in once more."""

    def go_down():
        machine.kernel(NEW_KERNEL)
        machine.restart(machine.boot)
        logins = machine.node.logins
        wait_until(lambda: machine.node.logins > logins)
        machine.restart()

    machine.when_asked = go_down
    outcome = applied(site, 0)
    assert outcome.outcomes()["restart"] == "changed"
    assert machine.restarts == 1


@pytest.mark.parametrize(
    ("readable", "status", "reason"), [(True, 3, "timeout"), (False, 4, "lost")], ids=["same", "unreadable"]
)
def test_what_is_no_new_boot_is_not_taken_for_one(site, machine, readable, status, reason):
    old = machine.boot

    def come_back():
        # The kernel is the right one: nothing but the boot id tells that there was no restart.
        machine.kernel(NEW_KERNEL)
        machine.restart(old if readable else "")

    machine.when_asked = come_back
    outcome = applied(site, status, PLAYBOOK.replace("60s", "4s"))
    assert (outcome.node["stopped_at"], outcome.node["reason"]) == ("restart", reason)
    said = f"it answered, the boot id is still {short(old)}" if readable else "its boot id cannot be read"
    assert said in outcome.step("restart")["message"]
    assert outcome.outcomes()["after"] == "not-reached"
    assert machine.restarts == 1
    assert [it["code"] for it in outcome.step("restart")["diagnoses"]] == (["SP281"] if readable else [])


def test_a_node_that_does_not_come_back_is_lost_in_bounded_time_and_its_run_is_taken_up_when_it_does(site, machine):
    machine.when_asked = machine.down
    outcome = applied(site, 4, PLAYBOOK.replace("60s", "3s"), "--reconnect-timeout", "1s")
    assert (outcome.node["outcome"], outcome.node["reason"]) == ("lost", "lost")
    assert "did not come back from its restart within 3.0 s" in outcome.node["message"]
    machine.kernel(NEW_KERNEL)
    machine.up()
    resumed = site.run("resume", "last", "--format", "json", check=0)
    assert resumed.outcomes() == {"before": "changed", "restart": "changed", "after": "changed"}
    assert machine.restarts == 1


def test_a_node_that_comes_back_with_the_old_kernel_stops_there(site, machine):
    outcome = applied(site, 3)
    assert (outcome.node["stopped_at"], outcome.node["reason"]) == ("restart", "postcondition")
    (condition,) = [it for it in outcome.step("restart")["conditions"] if it["phase"] == "post"]
    assert condition["verdict"] == "not-held"
    assert "6.8.0-45" in condition["observed"]
    assert machine.restarts == 1


def test_a_run_that_was_killed_while_its_node_was_down_restarts_nothing_again(site, machine):
    def restart():
        os.kill(controller.pid, 9)
        machine.kernel(NEW_KERNEL)
        machine.restart()

    machine.when_asked = restart
    controller = start(site, "apply", site.playbook(PLAYBOOK), "-i", site.inventory, "--yes")
    controller.wait(100)
    wait_until(lambda: machine.restarts == 1 and not machine.asked.exists())
    wait_until(lambda: (machine.folder / "kernel").read_text().strip() == NEW_KERNEL)
    resumed = site.run("resume", "last", "--format", "json", check=0)
    assert resumed.outcomes() == {"before": "changed", "restart": "changed", "after": "changed"}
    assert (machine.home / "ran").read_text().split() == ["before", "after"]
    assert machine.restarts == 1


def start(site, *words):
    """Start `stackplan WORDS` in the background."""
    environment = {**os.environ, "STACKPLAN_STATE": str(site.state), "SSH_AUTH_SOCK": ""}
    argv = [sys.executable, "-m", "stackplan", *map(str, words)]
    return subprocess.Popen(argv, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


SCRIPT = """
stackplan: 1
name: script
nodes: all
steps:
  - id: script
    run: {script: "echo ran >>~/ran; reboot; exec sleep 4711"}
    postconditions: [{file: {path: ~/never}}]
"""


def test_an_action_that_a_restart_cut_off_is_told_to_be_unknown_and_not_judged_well(site, machine):
    outcome = applied(site, 4, SCRIPT)
    assert (outcome.node["outcome"], outcome.node["reason"]) == ("lost", "lost")
    assert "how it ended is not known: the node was restarted: boot " in outcome.step("script")["message"]
    assert (machine.home / "ran").read_text() == "ran\n"
