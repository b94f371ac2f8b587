"""What a plan foretells on an sshd node, held to what an apply then does; and that the plan itself touches nothing."""

import hashlib
import os

from tests.sshd.conftest import PLAYBOOKS
from tests.sshd.test_story import TORCH_AND_SGLANG

PINNED = """
stackplan: 1
nodes: all
steps:
  - id: torch
    python_packages:
      venv: "{{ venv }}"
      packages: [torch, torchvision, torchaudio]
      index_url: "{{ torch_index }}"
      upgrade: true
    postconditions:
      - torch: {venv: "{{ venv }}", version: ">=2.11", cuda: 13.0}
  - id: sglang
    python_packages: {venv: "{{ venv }}", packages: [sglang==0.5.16], index_url: "{{ app_index }}", no_deps: true}
    postconditions:
      - package: {venv: "{{ venv }}", name: sglang}
  - id: app
    python_packages: {venv: "{{ venv }}", packages: [lab-legacy-app], index_url: "{{ app_index }}"}
    postconditions:
      - package: {venv: "{{ venv }}", name: lab-legacy-app}
"""


def walk(folder):
    """Return everything below a folder: what it is, its size, time and content."""
    found = {}
    for path in sorted(folder.rglob("*")):
        stat = path.lstat()
        content = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        digest = hashlib.sha256(os.fsencode(content)).hexdigest()
        found[str(path.relative_to(folder))] = (stat.st_mode, stat.st_uid, stat.st_size, stat.st_mtime_ns, digest)
    return found


def plan(site, playbook, check):
    return site.run("plan", playbook, "-i", site.inventory, "--format", "json", check=check)


def packages(changes):
    return {it["name"]: (it["before"], it["after"]) for it in changes if it["kind"] == "package"}


def environment(site):
    (node,) = site.nodes.values()
    return node.sandbox.home / "ml-env"


def test_the_founding_fault_is_red_before_anything_is_touched(site):
    before = walk(environment(site))
    assert len(before) > 50
    foretold = plan(site, site.playbook(TORCH_AND_SGLANG), 3)
    step = foretold.step("torch")
    assert (step["outcome"], step["reason"], step["predicted"]) == ("would-fail", "no-op", [])
    assert any("upgrade" in diagnosis["remedy"] for diagnosis in step["diagnoses"])
    assert foretold.step("sglang")["outcome"] == "unknown"
    assert walk(environment(site)) == before


def test_what_is_foretold_is_what_then_happens_and_the_plan_touches_nothing(site):
    playbook = PLAYBOOKS / "cuda13-blackwell.yaml"
    before = walk(environment(site))
    foretold = plan(site, playbook, 0)
    assert walk(environment(site)) == before
    done = site.apply(playbook, check=0)
    assert walk(environment(site)) != before
    installs = [step["id"] for step in done.node["steps"] if packages(step["changes"])]
    assert len(installs) == 6
    for step in done.node["steps"]:
        if step["id"] in ("kernel-caches", "server"):
            # Not foretold, and not for this node; neither has anything to do with packages.
            assert packages(step["changes"]) == {}
            continue
        expected = packages(foretold.step(step["id"])["predicted"])
        assert packages(step["changes"]) == expected == packages(step["predicted"]), step["id"]


def test_a_third_step_that_pins_torch_is_foretold_as_a_regression(site):
    foretold = plan(site, site.playbook(PINNED), 3)
    assert [foretold.step(name)["outcome"] for name in ("torch", "sglang")] == ["would-change", "would-change"]
    step = foretold.step("app")
    assert (step["outcome"], step["reason"], step["broke"]["step"]) == ("would-fail", "regression", "torch")
    assert packages(step["predicted"])["torch"] == ("2.11.0+cu130", "2.10.0")
