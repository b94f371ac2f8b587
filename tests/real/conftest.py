"""One sshd node for the session, with environments of real wheels; each is made once, from uv's cache where it can be.

uv links what is in its cache, so that an environment of several gigabytes takes seconds and next to no room. A test
that changes an environment makes one of its own (`fresh`), which goes away with it.
"""

import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from stackplan.connection.connect import ConnectOptions, connect
from stackplan.lab.gpu import NVIDIA_SMI
from stackplan.lab.inventory import LabNode, known_hosts_text
from stackplan.lab.sandbox import Sandbox, plain_python
from stackplan.lab.uv import find_uv
from stackplan.model.node import Node, NodeName
from tests.real.stacks import STACKS
from tests.sshd.conftest import Outcome
from tests.sshd.node import SSHD, sshd_node

PATIENCE_S = 1800
NODE = "gpu-01"


def pytest_collection_modifyitems(items):
    """Mark the tests of this folder, and skip them where there is no sshd."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.real)
            item.add_marker(pytest.mark.timeout(2 * PATIENCE_S))
            if SSHD is None:
                item.add_marker(pytest.mark.skip(reason="OpenSSH's sshd is not installed"))


class RealSandbox(Sandbox):
    """A node whose programs trust what this machine trusts: the way to the public index may lead through a proxy."""

    @property
    def environment(self):
        trusted = {name: os.environ[name] for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if name in os.environ}
        return {**super().environment, **trusted}


@dataclass
class Site:
    """The node and what a controller needs: `run` starts the real command line."""

    folder: Path
    sandbox: Sandbox
    inventory: Path
    node: Node
    options: ConnectOptions

    def run(self, *words, check):
        """Run `stackplan WORDS` on the node, for JSON, and return what came of it; with `-s` its figures show."""
        environment = {**os.environ, "STACKPLAN_STATE": str(self.folder / "state"), "SSH_AUTH_SOCK": ""}
        argv = [sys.executable, "-m", "stackplan", *map(str, words), "--format", "json"]
        since = time.monotonic()
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
        figure(f"{words[0]}: {time.monotonic() - since:.1f} s")
        assert check in (None, done.returncode), f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
        return Outcome(done.returncode, done.stdout, done.stderr)

    def playbook(self, steps):
        path = self.folder / "p.yaml"
        path.write_text(f"stackplan: 1\nname: real\nnodes: all\nsteps:\n{steps}")
        return path

    def plan(self, playbook, check=0):
        return self.run("plan", playbook, "-i", self.inventory, check=check)

    def apply(self, playbook, check=0):
        return self.run("apply", playbook, "-i", self.inventory, "--yes", check=check)

    def verify(self, playbook, check=0):
        return self.run("verify", playbook, "-i", self.inventory, check=check)


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("real")
    identity, known_hosts, inventory = folder / "id", folder / "known_hosts", folder / "inventory.yaml"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", identity], check=True)
    sandbox = RealSandbox(folder / NODE)
    for made in (sandbox.home, sandbox.programs, sandbox.folder / "tmp"):
        made.mkdir(parents=True)
    (sandbox.programs / "python3").symlink_to(plain_python())
    (sandbox.programs / "uv").symlink_to(find_uv())
    (sandbox.programs / "nvidia-smi").write_text(NVIDIA_SMI)
    (sandbox.programs / "nvidia-smi").chmod(0o755)
    # /etc/profile gives a login shell another PATH than the login itself; a real node's profile puts its own in front.
    (sandbox.home / ".profile").write_text(f"PATH={sandbox.programs}:$PATH\n")
    cache = subprocess.run([find_uv(), "cache", "dir"], capture_output=True, text=True, check=True).stdout.strip()
    Path(cache).mkdir(parents=True, exist_ok=True)
    (sandbox.home / ".cache").mkdir()
    (sandbox.home / ".cache" / "uv").symlink_to(cache)
    with sshd_node(sandbox, NODE, (folder / "id.pub").read_text().strip()) as served:
        known_hosts.write_text(known_hosts_text([LabNode(NODE, served.port, served.host_key, served.user)]))
        address = f"host: 127.0.0.1, port: {served.port}, user: {served.user}"
        files = f"identity_file: {identity}, known_hosts: {known_hosts}"
        inventory.write_text(f"stackplan: 1\nnodes:\n  {NODE}: {{{address}, {files}}}\n")
        node = Node(
            name=NodeName(NODE), host="127.0.0.1", port=served.port, user=served.user, identity_file=str(identity)
        )
        yield Site(folder, sandbox, inventory, node, ConnectOptions(known_hosts=str(known_hosts)))
    shutil.rmtree(sandbox.folder, ignore_errors=True)


@pytest.fixture(scope="session")
def stack(site):
    """Return a function that tells where the environment of a stack is on the node; who asks leaves it as it is."""
    made = {}

    def where(name):
        if name not in made:
            make(site.sandbox.home / name, *STACKS[name].packages)
            made[name] = f"~/{name}"
        return made[name]

    return where


@pytest.fixture
def fresh(site):
    """Return a function that makes `~/ml-env` of some packages, for a test to change; it goes away with the test."""
    venv = site.sandbox.home / "ml-env"

    def made(*packages):
        make(venv, *packages)
        return venv

    yield made
    for path in site.sandbox.home.glob("*ml-env*"):
        shutil.rmtree(path)


@pytest.fixture(scope="session")
def session(site):
    with_node = connect(site.node, site.options)
    yield with_node
    with_node.close()


def make(venv, *packages):
    since = time.monotonic()
    uv = find_uv()
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    subprocess.run([uv, "venv", "-q", "--python", plain_python(), venv], check=True, env=environment)
    argv = [uv, "pip", "install", "-q", "--prerelease", "allow", "--python", venv / "bin" / "python", *packages]
    subprocess.run(argv, check=True, env=environment)
    figure(f"{' '.join(packages)}: {size_bytes(venv) / 1e9:.1f} GB in {time.monotonic() - since:.1f} s")


def compile_modules(venv, *modules):
    """Import modules once and let Python keep what it compiles, as in an environment that is in use."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    code = f"import {', '.join(modules)}"
    subprocess.run([venv / "bin" / "python", "-c", code], check=True, capture_output=True, env=environment)


def size_bytes(folder):
    return sum(path.lstat().st_size for path in folder.rglob("*"))


def figure(text):
    """Tell a figure; with `-s` it can be read."""
    sys.stderr.write(f"    {text}\n")
