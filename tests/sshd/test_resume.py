"""Controllers that are killed, connections that are cut, two at once: an action runs once, whoever comes after whom."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.node import waiting
from tests.proxy.tcp import Proxy

# Each action leaves a line in a file; `slow` waits at a gate, so that the test and not the clock lets it go on.
STORY = """
stackplan: 1
name: story
nodes: all
steps:
  - id: first
    run: {script: "echo first >>~/ran; touch ~/one"}
    postconditions: [{file: {path: ~/one}}]
  - id: slow
    run:
      script: |
        echo slow >>~/ran
        mkfifo ~/gate
        echo begun
        read -r word <~/gate
        echo "$word"
        touch ~/two
    postconditions: [{file: {path: ~/two}}]
  - id: last
    run: {script: "echo last >>~/ran; touch ~/three"}
    postconditions: [{file: {path: ~/three}}]
"""


def wait_until(holds):
    """A controller starts, connects and plans within that time on any machine."""
    waiting.wait_until(holds, seconds=60)


class Controller:
    """A `stackplan` that runs in the background."""

    def __init__(self, site, *words):
        environment = {**os.environ, "STACKPLAN_STATE": str(site.state), "SSH_AUTH_SOCK": ""}
        argv = [sys.executable, "-m", "stackplan", *map(str, words)]
        self.process = subprocess.Popen(
            argv, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def kill(self):
        """Kill it as nothing else can, and wait until it is gone."""
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()

    def outcome(self):
        """Return exit status and report."""
        stdout, stderr = self.process.communicate(timeout=110)
        return self.process.returncode, json.loads(stdout), stderr


@pytest.fixture
def start():
    """Start a `stackplan` in the background; it is gone when the test is over."""
    started = []

    def start(site, *words):
        started.append(Controller(site, *words))
        return started[-1]

    yield start
    for it in started:
        if it.process.poll() is None:
            it.kill()


@pytest.fixture
def home(site):
    (node,) = site.nodes.values()
    return node.sandbox.home


def applying(site, playbook, *words):
    return ("apply", playbook, "-i", site.inventory, "--yes", "--format", "json", *words)


def ran(home):
    return (home / "ran").read_text().split()


def let_go(home):
    with (home / "gate").open("w") as gate:
        gate.write("through\n")


def run_id(site):
    (folder,) = (site.state / "runs").iterdir()
    return folder.name


def killed_at_the_gate(site, start, home):
    controller = start(site, *applying(site, site.playbook(STORY)))
    wait_until((home / "gate").exists)
    controller.kill()
    return run_id(site)


def steps(report):
    (node,) = report["nodes"]
    return {step["id"]: step["outcome"] for step in node["steps"]}


def step_of(report, name):
    (found,) = [step for node in report["nodes"] for step in node["steps"] if step["id"] == name]
    return found


def journalled(site, run):
    lines = (site.state / "runs" / run / "events.jsonl").read_text().splitlines()[1:]
    return [json.loads(line) for line in lines]


ALL_CHANGED = {"first": "changed", "slow": "changed", "last": "changed"}


def test_a_run_whose_controller_was_killed_is_taken_up_twice_and_no_action_runs_twice(site, start, home):
    run = killed_at_the_gate(site, start, home)
    # The working tree is not what counts any longer.
    site.playbook("nonsense")
    second = start(site, "resume", run[-4:], "--format", "json")
    wait_until(lambda: [it["event"] for it in journalled(site, run)].count("NodeStarted") == 2)
    second.kill()
    third = start(site, "resume", run, "--format", "json")
    wait_until(lambda: [it["event"] for it in journalled(site, run)].count("NodeStarted") == 3)
    let_go(home)
    status, report, stderr = third.outcome()
    assert status == 0, stderr
    assert (report["run"], steps(report)) == (run, ALL_CHANGED)
    assert ran(home) == ["first", "slow", "last"]
    slow = step_of(report, "slow")
    assert slow["action"]["output_tail"].split() == ["begun", "through"]
    assert [(it["before"], it["verdict"]) for it in slow["conditions"]] == [("not-held", "held")]
    told = "".join(it["text"] for it in journalled(site, run) if it["event"] == "OutputSeen" and it["step"] == "slow")
    assert told.split() == ["begun", "through"]


def test_an_action_that_ended_while_nobody_watched_is_not_run_again(site, start, home):
    run = killed_at_the_gate(site, start, home)
    let_go(home)
    (ending,) = [wait_for_ending(home, run, "slow")]
    assert json.loads(ending.read_text())["ending"] == {"exited": 0}
    status, report, stderr = start(site, "resume", run, "--format", "json").outcome()
    assert status == 0, stderr
    assert steps(report) == ALL_CHANGED
    assert ran(home) == ["first", "slow", "last"]
    # And once more: there is nothing left, and everything is proven again.
    done = site.run("resume", "last", check=0)
    assert "nothing was left to do" in done.stderr
    assert ran(home) == ["first", "slow", "last"]


def wait_for_ending(home, run, step):
    found = []

    def is_there():
        found[:] = home.glob(f".local/state/stackplan/*/spool/{run}.*.{step}.1/ending.json")
        return bool(found)

    wait_until(is_there)
    return found[0]


def test_a_new_run_waits_for_what_a_killed_controller_left_running(site, start, home):
    killed_at_the_gate(site, start, home)
    other = start(site, *applying(site, site.playbook(STORY)))
    seen = []
    for line in other.process.stderr:
        seen.append(line)
        if "waiting: step `slow` has been running there" in line:
            break
    else:
        pytest.fail("".join(seen))
    let_go(home)
    status, report, stderr = other.outcome()
    assert status == 0, stderr
    assert steps(report) == {"first": "satisfied", "slow": "satisfied", "last": "changed"}
    assert ran(home) == ["first", "slow", "last"]


def test_of_two_runs_at_once_one_goes_on_and_the_other_names_it(site, start, home):
    first = start(site, *applying(site, site.playbook(STORY)))
    wait_until((home / "gate").exists)
    run = run_id(site)
    refused = site.apply(site.playbook(STORY), check=7)
    assert refused.node["outcome"] == "locked"
    message = refused.node["message"]
    assert f"by run {run} of " in message
    assert "playbook story" in message
    assert "step `slow` has been running there for " in message
    again = site.run("resume", run, check=7)
    assert f"run {run} is still going on: process {first.process.pid} on " in again.stderr
    let_go(home)
    status, report, stderr = first.outcome()
    assert status == 0, stderr
    assert steps(report) == ALL_CHANGED
    assert ran(home) == ["first", "slow", "last"]


def test_a_lock_is_broken_and_what_it_held_is_ended(site, start, home):
    run = killed_at_the_gate(site, start, home)
    unasked = site.run("unlock", "gpu-01", "-i", site.inventory, check=2)
    assert "step `slow` has been running there for" in unasked.stderr
    assert "its controller is gone" in unasked.stderr
    done = site.run("unlock", "gpu-01", "-i", site.inventory, "--yes", check=0)
    assert "nothing of it lives any more, and the lock is free" in done.stdout
    ending = wait_for_ending(home, run, "slow")
    assert json.loads(ending.read_text())["ending"] == {"interrupted": True}
    free = site.run("unlock", "gpu-01", "-i", site.inventory, check=0)
    assert "nobody holds it" in free.stdout
    # What was ended is done anew when its run is taken up.
    (home / "gate").unlink()
    resumed = start(site, "resume", run, "--format", "json")
    wait_until((home / "gate").exists)
    let_go(home)
    status, report, stderr = resumed.outcome()
    assert status == 0, stderr
    assert step_of(report, "slow")["action"]["attempts"] == 2
    assert ran(home) == ["first", "slow", "slow", "last"]


def test_a_run_whose_lock_is_broken_does_not_take_it_back(site, start, home):
    first = start(site, *applying(site, site.playbook(STORY)))
    wait_until((home / "gate").exists)
    done = site.run("unlock", "gpu-01", "-i", site.inventory, "--yes", check=0)
    assert "its controller is connected" in done.stderr
    status, report, _ = first.outcome()
    assert status in (3, 4, 130)
    assert ran(home) == ["first", "slow"]
    assert steps(report)["last"] == "not-reached"


@pytest.fixture
def proxied(make_site):
    """A site behind a proxy that can be cut; as `site`, but its node is reached through it."""
    found = []

    def through_a_proxy(node):
        found.append(Proxy(node.port))
        found[-1].__enter__()
        return found[-1].port

    yield make_site(1, ports=through_a_proxy), found
    for proxy in found:
        proxy.__exit__(None, None, None)


def test_a_node_that_does_not_come_back_is_lost_and_its_run_is_taken_up_later(proxied, start):
    site, (proxy,) = proxied
    (node,) = site.nodes.values()
    home = node.sandbox.home
    controller = start(site, *applying(site, site.playbook(STORY), "--reconnect-timeout", "1s"))
    wait_until((home / "gate").exists)
    proxy.refuse()
    proxy.cut()
    status, report, _ = controller.outcome()
    run = run_id(site)
    assert status == 4
    (lost,) = report["nodes"]
    assert (lost["outcome"], lost["stopped_at"], lost["reason"]) == ("lost", "slow", "lost")
    assert "was started at 20" in lost["message"]
    assert "may still be running there" in lost["message"]
    assert lost["remedy"] == f"`stackplan resume {run}` takes the run up again"
    proxy.accepting = True
    resumed = start(site, "resume", run, "--format", "json")
    wait_until(lambda: [it["event"] for it in journalled(site, run)].count("NodeStarted") == 2)
    let_go(home)
    status, report, stderr = resumed.outcome()
    assert status == 0, stderr
    assert steps(report) == ALL_CHANGED
    assert ran(home) == ["first", "slow", "last"]


def test_a_connection_that_is_cut_for_a_while_costs_no_output(proxied, start):
    site, (proxy,) = proxied
    (node,) = site.nodes.values()
    home = node.sandbox.home
    playbook = site.playbook("""
stackplan: 1
name: long
nodes: all
steps:
  - id: long
    run:
      script: |
        echo ran >>~/ran
        for number in $(seq 60); do echo "line $number"; sleep 0.05; done
        touch ~/done
    postconditions: [{file: {path: ~/done}}]
""")
    controller = start(site, *applying(site, playbook))
    wait_until((home / "ran").exists)
    proxy.refuse()
    proxy.cut()
    back = threading.Timer(1.0, lambda: setattr(proxy, "accepting", True))
    back.start()
    status, report, stderr = controller.outcome()
    back.join()
    assert status == 0, stderr
    told = "".join(it["text"] for it in journalled(site, report["run"]) if it["event"] == "OutputSeen")
    assert told.splitlines() == [f"line {number}" for number in range(1, 61)]
    assert ran(home) == ["ran"]
    assert proxy.connections >= 3


def test_a_step_that_may_not_be_cut_off_is_not_run_again_unasked(site, start, home):
    text = STORY.replace("  - id: slow\n", "  - id: slow\n    interruptible: false\n")
    controller = start(site, *applying(site, site.playbook(text)))
    wait_until((home / "gate").exists)
    controller.kill()
    run = run_id(site)
    (spool,) = home.glob(f".local/state/stackplan/*/spool/{run}.*.slow.1")
    end_all(spool)
    status, report, _ = start(site, "resume", run, "--format", "json").outcome()
    assert status == 4
    slow = step_of(report, "slow")
    (diagnosis,) = slow["diagnoses"]
    assert diagnosis["code"] == "SP250"
    assert f"`stackplan resume {run} --again slow`" in diagnosis["remedy"]
    assert ran(home) == ["first", "slow"]
    (home / "gate").unlink()
    again = start(site, "resume", run, "--again", "slow", "--format", "json")
    wait_until((home / "gate").exists)
    let_go(home)
    status, report, stderr = again.outcome()
    assert status == 0, stderr
    assert ran(home) == ["first", "slow", "slow", "last"]


def end_all(spool):
    """Kill the supervisor of a job, then all that it had started."""
    pid = int((spool / "pid").read_text())
    sessions = [int(word) for word in (spool / "sessions").read_text().split()[::2]]
    os.kill(pid, signal.SIGKILL)
    for session in sessions:
        os.killpg(session, signal.SIGKILL)
    wait_until(lambda: not any(alive(it) for it in (pid, *sessions)))


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
