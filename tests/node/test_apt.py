"""Real apt-get and dpkg in a node of its own, with a repository of tiny packages: foretold is what then happens."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stackplan.model.change import Change
from stackplan.model.facts import Query
from stackplan.model.job import Exited, Interrupted
from stackplan.model.kind import Prediction
from tests import command_line
from tests.node.debian import build, debian_node
from tests.node.isolated import available
from tests.node.waiting import wait_until

pytestmark = pytest.mark.skipif(
    shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None or not available(),
    reason="needs Debian's apt, root, and the right to mount overlays",
)

ROOT = Path(__file__).parents[2]
BASE, TOOL, RIVAL = "stackplan-base", "stackplan-tool", "stackplan-rival"
HOLDER = """
import fcntl, sys
lock = open("/var/lib/dpkg/lock-frontend", "w")
fcntl.lockf(lock, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    return build(tmp_path_factory.mktemp("debian") / "repository")


@pytest.fixture
def node(repository):
    with debian_node(repository) as running:
        yield running


@pytest.fixture(scope="module")
def furnished(repository):
    """A node that the tests which are given it leave as it is."""
    with debian_node(repository) as running:
        act_as_foretold(running, install=[TOOL, "stackplan-kept=1.0"], hold=["stackplan-kept"])
        yield running


@pytest.fixture
def lock(node):
    """Another program at work with dpkg, until `close` of its standard input."""
    argv = [*node.enter, sys.executable, "-c", HOLDER]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"held\n"
        yield process
        process.stdin.close()


def rows(node, *names):
    answers = node.open().ask([Query("apt_package", {"name": name}) for name in names])
    return [(it.value["version"], it.value["held"]) for it in answers.values()]


def act_as_foretold(node, **values):
    """Have it done and hold what changed against what was foretold."""
    foretold = node.predict("apt_packages", **values)
    assert isinstance(foretold, Prediction)
    assert foretold.failures == ()
    ending, output, changes = node.act("apt_packages", **values)
    assert ending == Exited(0), output
    assert changes == foretold.changes
    return changes


def test_install_upgrade_downgrade_hold_and_remove_are_foretold_exactly(node):
    assert act_as_foretold(node, install=[f"{TOOL}=1.0"]) == (Change("apt", TOOL, None, "1.0"),)
    # A release candidate sorts before the release.
    assert act_as_foretold(node, install=[TOOL], hold=[TOOL]) == (
        Change("apt", BASE, None, "2.0"),
        Change("apt", TOOL, "1.0", "2.0, held"),
    )
    assert act_as_foretold(node, install=[f"{TOOL}=2.0~*"], hold=[TOOL]) == (
        Change("apt", TOOL, "2.0, held", "2.0~rc1, held"),
    )
    assert rows(node, TOOL, BASE, "stackplan-nothing") == [("2.0~rc1", True), ("2.0", False), (None, False)]
    assert act_as_foretold(node, install=[RIVAL], remove=[TOOL], update=True) == (
        Change("apt", RIVAL, None, "1.0"),
        Change("apt", TOOL, "2.0~rc1, held", None),
    )


@pytest.mark.parametrize(
    ("values", "code", "what"),
    [
        ({"install": ["stackplan-loose"]}, "SP229", "No set of package versions"),
        ({"install": [f"{TOOL}=9"]}, "SP223", f"No repository of the node offers {TOOL} 9"),
        # To apt this would be a pattern.
        ({"install": ["stackplan-too."]}, "SP223", "No repository of the node offers stackplan-too."),
        ({"remove": [BASE]}, "SP227", f"apt would remove {TOOL}"),
        ({"install": ["stackplan-kept"]}, "SP227", "although on hold"),
    ],
)
def test_what_apt_cannot_or_may_not_do_is_foretold_and_then_not_done(furnished, values, code, what):
    foretold = furnished.predict("apt_packages", **values)
    assert [(it.code, what in it.summary) for it in foretold.failures] == [(code, True)]
    ending, output, changes = furnished.act("apt_packages", **values)
    assert (ending, changes) == (Exited(1), ())
    assert "stackplan: apt " in output


def test_a_newer_version_is_foretold_with_fresh_lists_and_the_lists_of_the_node_stay(node, repository):
    kept = node.inside("/mnt/repository/Packages").read_text()
    node.inside("/mnt/repository/Packages").write_text("")
    node.run("apt-get", "-qq", "update")
    node.inside("/mnt/repository/Packages").write_text(kept)
    assert [it.code for it in node.predict("apt_packages", install=[BASE]).failures] == ["SP223"]
    assert node.predict("apt_packages", install=[BASE], update=True).changes == (Change("apt", BASE, None, "2.0"),)
    assert [it.code for it in node.predict("apt_packages", install=[BASE]).failures] == ["SP223"]
    act_as_foretold(node, install=[BASE], update=True)


def test_a_repository_that_cannot_be_fetched_stops_the_step(node):
    with node.inside("/etc/apt/sources.list").open("a") as sources:
        sources.write("deb [trusted=yes] file:/mnt/nowhere ./\n")
    foretold = node.predict("apt_packages", install=[BASE], update=True)
    assert [it.code for it in foretold.failures] == ["SP228"]
    assert "/mnt/nowhere" in foretold.failures[0].causes[0]
    ending, output, changes = node.act("apt_packages", install=[BASE], update=True)
    assert (ending, changes) == (Exited(1), ())
    assert "could not be fetched" in output


def test_another_programs_lock_is_waited_for_named_and_left_alone(node, lock):
    ending, output, changes = node.act("apt_packages", install=[BASE], lock_timeout="300ms")
    assert (ending, changes) == (Exited(1), ())
    holder = node.ask(Query("dpkg", {})).answers[Query("dpkg", {})].value["locked_by"]
    assert holder["path"] == "/var/lib/dpkg/lock-frontend"
    assert f"is held by process {holder['pid']} ({holder['name']}) for longer than 0.3 s" in output
    assert holder["name"].startswith("python")
    name, _ = node.start("apt_packages", install=[BASE], lock_timeout="60s")
    said = []

    def heard(chunk):
        said.append(chunk)
        if b"waiting for it" in b"".join(said) and not lock.stdin.closed:
            lock.stdin.close()

    assert node.open().watch(name, heard) == Exited(0)
    assert rows(node, BASE) == [("2.0", False)]


def test_a_killed_dpkg_is_found_and_named_before_anything_is_tried(node):
    name, _ = node.start("apt_packages", install=["stackplan-slow"])
    wait_until(node.inside("/mnt/begun").exists)
    node.open().terminate(name, grace_s=1.0)
    assert node.watch(name)[0] == Interrupted()
    refused = node.refusal("apt_packages", install=[BASE])
    assert "dpkg was interrupted: stackplan-slow is half-configured" in refused.summary
    assert "dpkg --configure -a" in refused.remedy


def test_a_package_whose_script_fails_is_named(node):
    ending, output, changes = node.act("apt_packages", install=["stackplan-broken"])
    assert ending == Exited(1)
    assert changes == (Change("apt", "stackplan-broken", None, "1.0, half-configured"),)
    assert "dpkg: error processing package stackplan-broken (--configure)" in output


PLAYBOOK = """
stackplan: 1
name: packages
nodes: all
steps:
  - id: needed
    apt_packages: {install: [stackplan-base]}
    postconditions:
      - apt_package: {name: stackplan-base}
  - id: needing
    apt_packages: {install: [stackplan-tool], hold: [stackplan-tool]}
    postconditions:
      - apt_package: {name: stackplan-tool, version: ">=2.0~rc1", held: true}
"""
BREAKING = """
  - id: breaking
    apt_packages: {install: [stackplan-rival], remove: [stackplan-tool]}
    postconditions:
      - apt_package: {name: stackplan-rival}
"""


def test_a_chain_is_foretold_step_by_step_and_applied_as_foretold(node, tmp_path):
    (tmp_path / "inventory.yaml").write_text(
        "stackplan: 1\ngroups:\n  all-of-them:\n    nodes:\n"
        f"      isolated: {{connection: command, command: {json.dumps(list(node.enter))}}}\n"
    )

    def stackplan(word, playbook, *more, check=0):
        (tmp_path / "p.yaml").write_text(playbook)
        environment = {**os.environ, "STACKPLAN_STATE": str(tmp_path / "state"), "PYTHONPATH": str(ROOT)}
        words = (word, "p.yaml", *more, "--format", "json")
        done = command_line.run(*words, environment=environment, folder=tmp_path)
        assert done.returncode == check, done.stdout + done.stderr
        return json.loads(done.stdout)["nodes"][0]["steps"]

    foretold = stackplan("plan", PLAYBOOK + BREAKING, check=3)
    assert [it["outcome"] for it in foretold] == ["would-change", "would-change", "would-fail"]
    assert (foretold[2]["reason"], foretold[2]["broke"]["step"]) == ("regression", "needing")
    done = stackplan("apply", PLAYBOOK, "--yes")
    assert [it["outcome"] for it in done] == ["changed", "changed"]
    assert [it["predicted"] for it in foretold[:2]] == [it["changes"] for it in done]
    # What the second needs is foretold to be there already.
    assert [[it["name"] for it in step["changes"]] for step in done] == [[BASE], [TOOL]]
    assert [it["outcome"] for it in stackplan("apply", PLAYBOOK, "--yes")] == ["satisfied", "satisfied"]
