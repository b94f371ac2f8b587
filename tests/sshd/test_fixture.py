"""The nodes themselves: reached over OpenSSH, apart from this machine and from each other, and counted."""

import subprocess
from pathlib import Path

import pytest


@pytest.fixture
def ssh(make_site):
    site = make_site(2)

    def run(name, command):
        node = site.nodes[name]
        argv = ["ssh", "-F", "/dev/null", "-o", "BatchMode=yes", "-o", f"UserKnownHostsFile={site.folder}/known_hosts"]
        argv += ["-i", site.folder / "id", "-p", str(node.port), f"{node.user}@127.0.0.1", command]
        return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=30).stdout

    run.site = site
    return run


def test_a_node_has_its_home_its_programs_and_the_cu128_stack(ssh):
    node = ssh.site.nodes["gpu-01"]
    said = ssh(
        "gpu-01",
        'cd && pwd && command -v nvidia-smi && ~/ml-env/bin/python -c "import torch; print(torch.version.cuda)"',
    )
    assert said.splitlines() == [str(node.sandbox.home), str(node.sandbox.programs / "nvidia-smi"), "12.8"]


def test_connections_and_commands_are_counted_by_sshd_itself(ssh):
    node = ssh.site.nodes["gpu-01"]
    assert (node.logins, node.commands) == (0, 0)
    ssh("gpu-01", "true")
    ssh("gpu-01", "true")
    assert (node.logins, node.commands) == (2, 2)


@pytest.mark.usefixtures("needs_isolation")
def test_what_a_node_puts_into_usr_local_is_seen_there_alone(ssh):
    ssh("gpu-01", "echo one >/usr/local/of-the-node")
    first, second = ssh.site.nodes.values()
    assert first.inside("/usr/local/of-the-node").read_text() == "one\n"
    assert not second.inside("/usr/local/of-the-node").exists()
    assert not Path("/usr/local/of-the-node").exists()
