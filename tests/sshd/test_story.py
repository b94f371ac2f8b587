"""The founding story on sshd: a no-op is stopped and explained, the upgrade is proven, what was proven stays proven."""

from pathlib import Path

import pytest

from stackplan.lab.demo import SCENES, last_report
from stackplan.lab.scene import mismatches
from tests.sshd.conftest import PLAYBOOKS

TORCH_AND_SGLANG = """
stackplan: 1
name: p
nodes: all
steps:
  - id: torch
    python_packages:
      venv: "{{ venv }}"
      packages: [torch, torchvision, torchaudio]
      index_url: "{{ torch_index }}"
      # upgrade
    postconditions:
      - torch: {venv: "{{ venv }}", cuda: 13.0}
  - id: sglang
    python_packages: {venv: "{{ venv }}", packages: [sglang==0.5.16], index_url: "{{ app_index }}", no_deps: true}
    postconditions:
      - package: {venv: "{{ venv }}", name: sglang}
"""


@pytest.fixture
def installs(site):
    """Return a function that tells what uv was asked to install on the node; uv itself is wrapped, not trusted."""
    (node,) = site.nodes.values()
    program, kept = node.sandbox.programs / "uv", node.sandbox.folder / "uv-calls"
    real = program.resolve()
    program.unlink()
    program.write_text(f'#!/bin/sh\necho "$*" >>{kept}\nexec {real} "$@"\n')
    program.chmod(0o755)

    def calls():
        lines = kept.read_text().splitlines() if kept.exists() else []
        return [line for line in lines if "pip install" in line and "--dry-run" not in line]

    return calls


def test_a_step_without_upgrade_is_a_no_op_and_stops_the_node(site, installs):
    outcome = site.apply(site.playbook(TORCH_AND_SGLANG), check=3)
    assert outcome.report["outcome"] == "failed"
    assert (outcome.node["stopped_at"], outcome.node["reason"]) == ("torch", "no-op")
    step = outcome.step("torch")
    assert (step["outcome"], step["reason"], step["changes"]) == ("failed", "no-op", [])
    assert step["action"]["exit_code"] == 0
    condition = next(condition for condition in step["conditions"] if condition["kind"] == "torch")
    assert (condition["verdict"], condition["observed"]) == ("not-held", "12.8")
    assert "13.0" in condition["expected"]
    assert any("upgrade" in diagnosis["remedy"] for diagnosis in step["diagnoses"])
    assert outcome.outcomes() == {"torch": "failed", "sglang": "not-reached"}
    assert len(installs()) == 1


def test_with_upgrade_the_change_is_listed_and_a_second_run_has_nothing_to_do(site, installs):
    playbook = site.playbook(TORCH_AND_SGLANG.replace("# upgrade", "upgrade: true"))
    first = site.apply(playbook, check=0)
    assert first.outcomes() == {"torch": "changed", "sglang": "changed"}
    changes = {change["name"]: (change["before"], change["after"]) for change in first.step("torch")["changes"]}
    assert changes["torch"] == ("2.10.0+cu128", "2.11.0+cu130")
    assert changes["torchvision"] == ("0.25.0+cu128", "0.26.0+cu130")
    assert len(installs()) == 2

    second = site.apply(playbook, check=0)
    assert second.outcomes() == {"torch": "satisfied", "sglang": "satisfied"}
    assert all(step["changes"] == [] for step in second.node["steps"])
    assert len(installs()) == 2


def test_a_later_step_that_puts_the_old_torch_back_is_a_regression(site):
    outcome = site.apply(PLAYBOOKS / "examples" / "torch-pulled-back.yaml", check=3)
    assert (outcome.node["stopped_at"], outcome.node["reason"]) == ("app", "regression")
    step = outcome.step("app")
    assert step["broke"]["step"] == "torch"
    assert [condition["kind"] for condition in step["broke"]["conditions"]] == ["torch"]
    changes = {change["name"]: (change["before"], change["after"]) for change in step["changes"]}
    assert changes["torch"] == ("2.11.0+cu130", "2.10.0")
    assert outcome.outcomes()["after-app"] == "not-reached"


def test_the_four_scenes_of_the_demo_come_out_as_told(make_site):
    site = make_site(max(scene.nodes for scene in SCENES))
    for scene in SCENES:
        outcome = site.run("apply", PLAYBOOKS / scene.playbook, "-i", site.inventory, *scene.options, "--yes")
        report = last_report(site.state)
        assert report is not None, outcome.stderr
        assert mismatches(scene, outcome.status, report) == [], f"{outcome.stdout}\n{outcome.stderr}"


@pytest.mark.usefixtures("needs_isolation")
def test_the_shipped_playbook_installs_the_toolkit_where_it_says(site):
    playbook = PLAYBOOKS / "cuda13-blackwell.yaml"
    (node,) = site.nodes.values()
    before = set(node.inside("/usr/local").iterdir())
    prefix = "/usr/local/cuda-of-the-lab"
    outcome = site.apply(playbook, "--var", f"cuda_prefix={prefix}", "--step", "cuda-toolkit", check=0)
    assert outcome.step("cuda-toolkit")["outcome"] == "changed"
    assert "stand-in" in node.inside(f"{prefix}/bin/nvcc").read_text()
    assert set(node.inside("/usr/local").iterdir()) - before == {node.inside(prefix)}
    assert not Path(prefix).exists()


def test_the_shipped_playbook_removes_the_old_kernel_package_because_the_new_one_writes_over_it(site):
    """Without that step the environment is no longer whole, and the condition that comes along says so."""
    text = TORCH_AND_SGLANG.replace("# upgrade", "upgrade: true").replace(", no_deps: true", "")
    outcome = site.apply(site.playbook(text), check=3)
    assert (outcome.node["stopped_at"], outcome.node["reason"]) == ("sglang", "postcondition")
    (whole,) = [it for it in outcome.step("sglang")["conditions"] if it["kind"] == "environment_intact"]
    assert whole["verdict"] == "not-held"
    assert all(word in whole["observed"] for word in ("sgl_kernel/__init__.py", "sgl-kernel", "sglang-kernel"))
