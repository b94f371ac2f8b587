"""driver-580 and node-health on a machine with a driver: real apt and dpkg, a restart, a fabric, a scheduler."""

import shutil
import subprocess

import pytest

from stackplan.lab.inventory import LabNode, inventory_text, known_hosts_text
from stackplan.lab.sandbox import Sandbox, build
from stackplan.lab.uv import find_uv
from tests.node.isolated import available
from tests.playbooks.driver_node import LIBRARIES, NEW, OLD, SUFFIX, driver_machine, repository
from tests.slurm.cluster import missing, running_cluster
from tests.sshd.conftest import PLAYBOOKS, Site, index, uv_cache  # noqa: F401 - fixtures
from tests.sshd.machine import restartable
from tests.sshd.node import SSHD

pytestmark = pytest.mark.skipif(
    SSHD is None or shutil.which("dpkg-deb") is None or not available() or not restartable(),
    reason="needs OpenSSH's sshd, Debian's apt, root, and the right to mount",
)
DRIVER, HEALTH = PLAYBOOKS / "driver-580.yaml", PLAYBOOKS / "node-health.yaml"
ALONE = ("--var", "scheduler=none")
NAMES = frozenset(
    f"{stem}-{branch}{suffix}"
    for branch in ("570", "580")
    for stem, suffix in (
        ("libnvidia-compute", "-server"),
        ("nvidia-utils", "-server"),
        ("nvidia-dkms", "-server-open"),
        ("nvidia-headless", "-server-open"),
        ("nvidia-fabricmanager", ""),
    )
)


@pytest.fixture
def machine(tmp_path, index, uv_cache):  # noqa: F811 - fixtures
    """The machine, and what it has for a disk."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "id"], check=True)
    key_line = (tmp_path / "id.pub").read_text().strip()
    sandbox = Sandbox(tmp_path / "node")
    build(sandbox, find_uv(), index=index.url, cache=uv_cache)
    with driver_machine(sandbox, repository(tmp_path / "repository"), key_line) as made:
        yield made


@pytest.fixture
def site(machine, tmp_path, index):  # noqa: F811 - a fixture
    node = machine[0].node
    reached = [LabNode(node.name, node.port, node.host_key, node.user)]
    (tmp_path / "known_hosts").write_text(known_hosts_text(reached))
    inventory = tmp_path / "inventory.yaml"
    inventory.write_text(inventory_text(reached, index.url, tmp_path / "id", tmp_path / "known_hosts"))
    return Site(tmp_path, index, {"gpu-01": node}, inventory, tmp_path / "state")


@pytest.mark.timeout(300)
def test_a_driver_with_its_fabric_manager_and_the_health_of_the_node(site, machine):
    made, disk = machine
    foretold = site.run("plan", DRIVER, "-i", site.inventory, *ALONE, "--format", "json", check=0)
    assert foretold.step("driver")["outcome"] == "would-change"

    done = site.apply(DRIVER, *ALONE, check=0)
    assert done.outcomes() == {
        "drain": "skipped",
        "cordon": "skipped",
        "driver": "changed",
        "fabric-manager": "changed",
        "restart": "changed",
        "fabric": "changed",
        "kernels": "satisfied",
        "resume": "skipped",
        "uncordon": "skipped",
    }
    changed = packages(done.step("driver")["changes"])
    assert changed["nvidia-headless-580-server-open"] == (None, f"{NEW}{SUFFIX}, held")
    assert changed["nvidia-fabricmanager-570"] == (f"{OLD}{SUFFIX}", None)
    assert packages(foretold.step("driver")["predicted"]) == changed
    assert made.restarts == 1

    again = site.apply(DRIVER, *ALONE, check=0)
    assert set(again.outcomes().values()) == {"satisfied", "skipped"}
    assert made.restarts == 1

    sound = ("--var", "cuda=12.8", "--var", "nvswitch=true", "--var", "root_free=1MB")
    healthy = site.run("verify", HEALTH, "-i", site.inventory, *sound, "--format", "json", check=0)
    assert healthy.outcomes() == {
        **dict.fromkeys(("system", "driver", "gpus", "fabric", "environment", "kernels"), "held"),
        "server": "skipped",
    }
    # What an unattended upgrade does: the libraries move, the module stays loaded. Nothing says so but the files.
    disk.run(
        "sh", "-c", f"cd {LIBRARIES} && cp libcuda.so.{NEW} libcuda.so.{OLD} && ln -sfn libcuda.so.{OLD} libcuda.so.1"
    )
    broken = site.run("verify", HEALTH, "-i", site.inventory, *sound, "--format", "json", check=3)
    assert {name for name, outcome in broken.outcomes().items() if outcome == "not-held"} == {"driver"}
    (coherent,) = broken.step("driver")["conditions"]
    assert OLD in coherent["observed"]


def test_a_node_that_would_come_back_without_the_new_module_is_not_restarted(site, machine):
    """DKMS skips kernels without headers, apt is content, and the next start would load the old driver or none."""
    made, disk = machine
    disk.run("touch", "/mnt/no-headers")
    stopped = site.apply(DRIVER, *ALONE, check=3)
    assert (stopped.node["stopped_at"], stopped.node["reason"]) == ("driver", "postcondition")
    module = [it for it in stopped.step("driver")["conditions"] if it["kind"] == "command"]
    assert [it["verdict"] for it in module] == ["not-held"]
    assert stopped.outcomes()["restart"] == "not-reached"
    assert made.restarts == 0


@pytest.mark.slurm
@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_the_node_is_drained_in_slurm_before_and_given_back_after(site, machine, tmp_path):
    made, _ = machine
    (tmp_path / "slurm").mkdir()
    with running_cluster(tmp_path / "slurm") as cluster:
        for program in ("scontrol", "squeue"):
            wrapper = made.folder / "bin" / program
            wrapper.write_text(f'#!/bin/sh\nSLURM_CONF={cluster.folder}/slurm.conf exec /usr/bin/{program} "$@"\n')
            wrapper.chmod(0o755)
        drained = site.apply(DRIVER, "--step", "drain", check=0)
        assert drained.outcomes()["drain"] == "changed"
        assert cluster.state() == {"IDLE", "DRAIN"}
        assert cluster.reason().startswith(f"driver {NEW}")
        resumed = site.apply(DRIVER, "--step", "resume", check=0)
        assert resumed.outcomes()["resume"] == "changed"
        assert cluster.state() == {"IDLE"}


def packages(changes):
    """Return before and after by name of the Debian packages among the changes."""
    return {it["name"]: (it["before"], it["after"]) for it in changes if it["name"].partition(":")[0] in NAMES}
