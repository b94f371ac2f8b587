"""Bad nodes and bad networks: each a named outcome with its exit status, never a traceback."""

import subprocess
from pathlib import Path

import pytest

CHECK = """
stackplan: 1
name: check
nodes: all
steps:
  - id: one
    checkpoint: {}
    postconditions:
      - file: {path: /etc, type: directory}
"""


def checked(site):
    return site.run("verify", site.playbook(CHECK), "-i", site.inventory, "--format", "json")


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def no_traceback(outcome):
    return "Traceback" not in outcome.stdout + outcome.stderr


def test_a_node_that_does_not_listen_is_unreachable(site):
    (node,) = site.nodes.values()
    node.process.terminate()
    node.process.wait(10)
    outcome = checked(site)
    assert (outcome.status, outcome.node["outcome"]) == (4, "unreachable")
    assert str(node.port) in outcome.node["message"]
    assert no_traceback(outcome)


@pytest.mark.parametrize("change", ["changed", "unknown"])
def test_a_host_key_that_is_changed_or_unknown_is_refused_with_its_fingerprint(site, change, tmp_path):
    (node,) = site.nodes.values()
    key_line = node.host_key
    if change == "changed":
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "other"], check=True)
        edit(site.folder / "known_hosts", key_line, " ".join((tmp_path / "other.pub").read_text().split()[:2]))
    else:
        (site.folder / "known_hosts").write_text("")
    fingerprint = subprocess.run(
        ["ssh-keygen", "-l", "-f", node.sandbox.folder / "host_key.pub"], capture_output=True, text=True, check=True
    ).stdout.split()[1]
    outcome = checked(site)
    assert (outcome.status, outcome.node["outcome"]) == (4, "unreachable")
    said = f"{outcome.node['message']} {outcome.node['remedy']}"
    assert fingerprint in said
    assert "known_hosts" in said
    assert ("--accept-new" in said) == (change == "unknown")
    assert node.commands == 0


def test_a_key_that_the_node_does_not_know_is_refused(site):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", site.folder / "other"], check=True)
    edit(site.inventory, f"{site.folder}/id", f"{site.folder}/other")
    outcome = checked(site)
    assert (outcome.status, outcome.node["outcome"]) == (4, "unreachable")
    assert no_traceback(outcome)


@pytest.mark.parametrize("venv", ["~/nowhere", "~"])
def test_a_venv_that_is_missing_or_none_stops_before_anything_runs(site, venv):
    text = f"""
stackplan: 1
name: p
nodes: all
steps:
  - id: torch
    python_packages: {{venv: "{venv}", packages: [torch]}}
    postconditions:
      - torch: {{venv: "{venv}", cuda: 13.0}}
"""
    outcome = site.apply(site.playbook(text), check=3)
    assert (outcome.node["stopped_at"], outcome.node["reason"]) == ("torch", "precondition")
    assert no_traceback(outcome)


def test_an_action_that_hangs_is_ended_and_named(site):
    text = """
stackplan: 1
name: p
nodes: all
steps:
  - id: hang
    timeout: 1s
    run: {script: "echo begun; sleep 4711"}
    postconditions:
      - file: {path: /etc/never, exists: true}
"""
    outcome = site.apply(site.playbook(text), check=3)
    assert (outcome.node["stopped_at"], outcome.node["reason"]) == ("hang", "timeout")
    assert "begun" in outcome.step("hang")["action"]["output_tail"]
    left = subprocess.run(["pgrep", "-f", "sleep 4711"], capture_output=True, text=True, check=False).stdout
    assert left == ""


def test_binary_output_of_a_hundred_megabytes_is_kept_within_bounds(site):
    text = """
stackplan: 1
name: p
nodes: all
steps:
  - id: loud
    run: {script: "head -c 100000000 /dev/urandom; echo; echo the end; touch ~/done"}
    postconditions:
      - file: {path: ~/done, exists: true}
"""
    outcome = site.apply(site.playbook(text), check=0)
    step = outcome.step("loud")
    assert step["outcome"] == "changed"
    assert "the end" in step["action"]["output_tail"]
    assert len(outcome.stdout) < 1_000_000


@pytest.mark.usefixtures("needs_isolation")
def test_what_a_login_prints_does_not_disturb(site):
    (node,) = site.nodes.values()
    folder = node.sandbox.home / ".ssh"
    folder.mkdir(mode=0o700)
    (folder / "rc").write_text(
        "for i in 1 2 3; do echo 'Welcome to gpu-01, property of ops.'; done; printf '\\000\\000'\n"
    )
    outcome = checked(site)
    assert (outcome.status, outcome.node["outcome"]) == (0, "ok")


@pytest.mark.usefixtures("needs_isolation")
def test_a_node_without_python_says_what_to_install(site):
    (node,) = site.nodes.values()
    (node.sandbox.programs / "python3").unlink()
    for folder in ("/usr/bin", "/usr/local/bin", "/bin"):
        for program in {path.resolve() for path in Path(folder).glob("python3*") if path.is_file()}:
            node.run_as_root("mount", "--bind", "/dev/null", program)
    outcome = checked(site)
    assert (outcome.status, outcome.node["outcome"]) == (4, "unreachable")
    assert "python3" in f"{outcome.node['message']} {outcome.node['remedy']}"
    assert no_traceback(outcome)
