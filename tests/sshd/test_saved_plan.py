"""Saved plans against nodes behind sshd: somebody installs by hand between plan and apply."""

import subprocess
from dataclasses import replace

import pytest

from stackplan.engine.saved_plan import decode, encode

PLAYBOOK = """
stackplan: 1
name: p
nodes: all
steps:
  - id: torch
    python_packages:
      venv: "{{ venv }}"
      packages: [torch, torchvision, torchaudio]
      index_url: "{{ torch_index }}"
      upgrade: true
    postconditions:
      - torch: {venv: "{{ venv }}", cuda: 13.0}
  - id: sglang
    python_packages: {venv: "{{ venv }}", packages: [sglang==0.5.16], index_url: "{{ app_index }}", no_deps: true}
    postconditions:
      - package: {venv: "{{ venv }}", name: sglang}
"""


@pytest.fixture
def plan(site):
    """Return a function that plans and saves; what comes of it, and the file."""

    def plan(*words):
        path = site.folder / "p.json"
        words = ("-i", site.inventory, "-o", path, "--format", "json", *words)
        return site.run("plan", site.playbook(PLAYBOOK), *words, check=0), path

    return plan


def install_by_hand(site, package):
    (node,) = site.nodes.values()
    sandbox = node.sandbox
    argv = [sandbox.programs / "uv", "pip", "install", "--python", sandbox.home / "ml-env" / "bin" / "python"]
    argv += ["--index-url", f"{site.index.url}/default/", "--no-deps", package]
    environment = {**sandbox.environment, "UV_CACHE_DIR": str(site.folder / "by-hand"), "UV_NO_CONFIG": "1"}
    subprocess.run(argv, env=environment, capture_output=True, check=True)


def uv_installs(site):
    """Wrap the node's uv and return a function that tells how often it was asked to install in earnest."""
    (node,) = site.nodes.values()
    program, kept = node.sandbox.programs / "uv", node.sandbox.folder / "uv-calls"
    real = program.resolve()
    program.unlink()
    program.write_text(f'#!/bin/sh\necho "$*" >>{kept}\nexec {real} "$@"\n')
    program.chmod(0o755)

    def count():
        lines = kept.read_text().splitlines() if kept.exists() else []
        return len([line for line in lines if "pip install" in line and "--dry-run" not in line])

    return count


def test_a_package_installed_by_hand_makes_the_plan_stale_and_a_new_plan_is_applied(site, plan):
    _, path = plan()
    install_by_hand(site, "lab-legacy-app==1.0")
    installs = uv_installs(site)
    outcome = site.run("apply", path, "--yes", "--format", "json", check=6)
    assert outcome.node["outcome"] == "stale"
    (finding,) = [it for it in outcome.node["diagnoses"] if "lab-legacy-app" in it["summary"]]
    assert finding["summary"] == "package lab-legacy-app has moved since the plan was made"
    assert (finding["expected"], finding["observed"]) == ("absent", "1.0")
    assert installs() == 0
    outcome = site.run("apply", path, "--yes", check=6)
    assert "package lab-legacy-app has moved since the plan was made" in outcome.stdout

    planned, path = plan()
    outcome = site.run("apply", path, "--yes", "--format", "json", check=0)
    assert outcome.outcomes() == {"torch": "changed", "sglang": "changed"}
    assert installs() == 2
    for step in outcome.node["steps"]:
        assert step["changes"] == planned.step(step["id"])["predicted"]


def test_a_new_release_on_the_index_makes_the_plan_stale(site, plan):
    """What would be installed is part of what was looked at; the playbook and the node are as they were."""
    _, path = plan()
    text = path.read_text()
    assert '"after": "2.11.0+cu130"' in text
    saved = decode(text)
    (node,) = saved.nodes
    (torch, *rest) = node.plan.steps
    older = tuple(replace(it, after="2.10.9+cu130") if it.name == "torch" else it for it in torch.predicted)
    steps = (replace(torch, predicted=older), *rest)
    path.write_text(encode(replace(saved, nodes=(replace(node, plan=replace(node.plan, steps=steps)),))))
    outcome = site.run("apply", path, "--yes", "--format", "json", check=6)
    (finding,) = outcome.node["diagnoses"]
    assert finding["summary"] == "step `torch` would change package torch otherwise than the plan shows"
    assert finding["observed"] == "2.10.0+cu128 → 2.11.0+cu130"
