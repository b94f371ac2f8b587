"""Nodes served by sshd, each with an environment that holds the cu128 stack, and the files to reach them."""

import contextlib
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from stackplan.lab.catalogue import channels
from stackplan.lab.index import Index, pages
from stackplan.lab.inventory import LabNode, inventory_text, known_hosts_text
from stackplan.lab.sandbox import Sandbox, build
from stackplan.lab.uv import find_uv
from tests import command_line
from tests.sshd.node import SSHD, SshdNode, isolated, sshd_node

PLAYBOOKS = Path(__file__).parents[2] / "playbooks"


def pytest_collection_modifyitems(items):
    """Mark the tests of this folder, and skip them where there is no sshd."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.sshd)
            if SSHD is None:
                item.add_marker(pytest.mark.skip(reason="OpenSSH's sshd is not installed"))


@pytest.fixture(scope="session")
def index():
    with Index(pages(channels())) as running:
        yield running


@pytest.fixture(scope="session")
def uv_cache(tmp_path_factory):
    return tmp_path_factory.mktemp("uv-cache")


@dataclass
class Site:
    """Some sshd nodes and what a controller needs: `run` starts the real command line."""

    folder: Path
    index: Index
    nodes: dict[str, SshdNode]
    inventory: Path
    state: Path

    def run(self, *words, check=None):
        """Run `stackplan WORDS` and return what came of it, its JSON document read where there is one."""
        environment = {**os.environ, "STACKPLAN_STATE": str(self.state), "SSH_AUTH_SOCK": ""}
        done = command_line.run(*map(str, words), environment=environment)
        if check is not None:
            assert done.returncode == check, f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
        return Outcome(done.returncode, done.stdout, done.stderr)

    def apply(self, playbook, *words, check=None):
        return self.run("apply", playbook, "-i", self.inventory, "--yes", "--format", "json", *words, check=check)

    def playbook(self, text):
        path = self.folder / "p.yaml"
        path.write_text(text)
        return path


@dataclass
class Outcome:
    status: int
    stdout: str
    stderr: str

    @property
    def report(self):
        return json.loads(self.stdout)

    @property
    def node(self):
        """The report of the only node."""
        (node,) = self.report["nodes"]
        return node

    def step(self, name):
        (step,) = [step for step in self.node["steps"] if step["id"] == name]
        return step

    def outcomes(self):
        return {step["id"]: step["outcome"] for step in self.node["steps"]}


@pytest.fixture
def make_site(tmp_path, index, uv_cache):
    """Return a function that starts a site of so many nodes; `variables` go into the inventory over the lab's."""
    with contextlib.ExitStack() as stack:

        def make(count=1, ports=lambda node: node.port):
            identity = tmp_path / "id"
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", identity], check=True)
            key_line = (tmp_path / "id.pub").read_text().strip()
            nodes = {}
            for number in range(1, count + 1):
                name = f"gpu-{number:02}"
                sandbox = Sandbox(tmp_path / "nodes" / name)
                build(sandbox, find_uv(), index=index.url, cache=uv_cache)
                nodes[name] = stack.enter_context(sshd_node(sandbox, name, key_line))
            reached = [LabNode(node.name, ports(node), node.host_key, node.user) for node in nodes.values()]
            known_hosts, inventory = tmp_path / "known_hosts", tmp_path / "inventory.yaml"
            known_hosts.write_text(known_hosts_text(reached))
            inventory.write_text(inventory_text(reached, index.url, identity, known_hosts))
            return Site(tmp_path, index, nodes, inventory, tmp_path / "state")

        yield make


@pytest.fixture
def site(make_site):
    return make_site(1)


@pytest.fixture(scope="session")
def needs_isolation():
    if not isolated():
        pytest.skip("needs root and mount namespaces")
