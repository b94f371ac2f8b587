"""Changes with real wheels: a no-op, the wrong CUDA, mixed kernels, a pin that pulls torch back, and the way back."""

import time

from tests.real.conftest import figure
from tests.real.stacks import HEALTHY

CU128 = HEALTHY["torch-2.9.1"].packages
TORCH = """
  - id: torch
    python_packages: {venv: ~/ml-env, packages: [%s]}
    postconditions:
      - torch: {venv: ~/ml-env, cuda: %s}
"""
CU130 = "torch==2.14.1, torchvision==0.29.2, torchaudio==2.11.0"
SHARED = "[nvidia-cudnn-cu12, nvidia-cusparselt-cu12, nvidia-nccl-cu12, nvidia-nvshmem-cu12]"
"""They write where those for CUDA 13 write; an installer puts these beside them and leaves files with two owners."""
REMOVED = f"""
  - id: old-libraries
    python_packages: {{venv: ~/ml-env, remove: {SHARED}}}
    postconditions:
      - package: {{venv: ~/ml-env, name: nvidia-cudnn-cu12, absent: true}}
"""
FLASHINFER = """
  - id: flashinfer
    python_packages: {venv: ~/ml-env, packages: [flashinfer-python==0.7.2]}
    postconditions:
      - package: {venv: ~/ml-env, name: flashinfer-python, version: ==0.7.2}
      - packages_consistent: {venv: ~/ml-env}
      - cuda_coherent: {venv: ~/ml-env, cuda: 13.0}
"""
KERNELS = """
  - id: kernels
    python_packages: {venv: ~/ml-env, packages: [sgl-kernel==0.3.21], no_deps: true}
    postconditions:
      - package: {venv: ~/ml-env, name: sgl-kernel, version: ==0.3.21}
      - cuda_coherent: {venv: ~/ml-env, cuda: 13.0}
"""
PINNED_BACK = """
  - id: companion
    python_packages: {venv: ~/ml-env, packages: [torchaudio==2.9.1]}
    on_failure: %s
    postconditions:
      - package: {venv: ~/ml-env, name: torchaudio, version: ==2.9.1}
"""


def tree(venv):
    """Return what stands in an environment, compiled files left out: mode, time, size or target by path."""
    found = {}
    for path in venv.rglob("*"):
        if "__pycache__" not in path.parts:
            status = path.lstat()
            about = path.readlink() if path.is_symlink() else (status.st_mtime_ns, status.st_size)
            found[path.relative_to(venv)] = (status.st_mode, None if path.is_dir() else about)
    return found


def inodes(venv):
    """Return which files an environment's libraries are, by path."""
    return {path.relative_to(venv): path.lstat().st_ino for path in venv.rglob("*.so*")}


def condition(step, kind):
    (found,) = [it for it in step["conditions"] if it["kind"] == kind and it["phase"] == "post"]
    return found


def codes(step):
    return [it["code"] for it in step["diagnoses"]]


def foretold(planned, applied, *steps):
    """Assert that the plan foretold of these steps exactly the packages that changed."""
    for name in steps:
        changes = [it for it in applied.step(name)["changes"] if it["kind"] == "package"]
        assert changes != []
        assert planned.step(name)["predicted"] == changes
        figure(f"{name}: {len(changes)} packages changed as foretold")


def test_a_bare_name_beside_an_older_torch_is_a_no_op(site, fresh):
    venv = fresh(*CU128)
    before = tree(venv)
    playbook = site.playbook(TORCH % ("torch", "13.0"))
    planned = site.plan(playbook, check=3).step("torch")
    assert (planned["outcome"], planned["reason"], planned["predicted"]) == ("would-fail", "no-op", [])
    outcome = site.apply(playbook, check=3)
    step = outcome.step("torch")
    assert (step["outcome"], step["reason"], step["changes"]) == ("failed", "no-op", [])
    assert step["action"]["exit_code"] == 0
    stated = condition(step, "torch")
    assert (stated["expected"], stated["observed"]) == ("13.0", "12.8")
    assert codes(step) == ["SP201"]
    assert "upgrade" in step["diagnoses"][0]["remedy"]
    assert tree(venv) == before


def test_an_upgrade_to_the_wrong_cuda_stops_with_what_was_wanted_and_what_came(site, fresh):
    """What the index brings is built for CUDA 13.0, where the playbook wants 12.6."""
    fresh("torch==2.9.1")
    playbook = site.playbook(REMOVED + TORCH % ("torch==2.14.1", "12.6"))
    planned = site.plan(playbook, check=None)
    outcome = site.apply(playbook, check=3)
    step = outcome.step("torch")
    assert (step["outcome"], step["reason"]) == ("failed", "postcondition")
    stated = condition(step, "torch")
    assert (stated["expected"], stated["observed"]) == ("12.6", "13.0")
    foretold(planned, outcome, "torch")
    figure(f"planned {planned.step('torch')['outcome']}; diagnosed {step['diagnoses']}")
    assert "SP211" in codes(step)


def test_kernels_for_another_cuda_stop_the_chain_that_was_proven_up_to_them(site, fresh):
    fresh(*CU128)
    playbook = site.playbook(REMOVED + TORCH % (CU130, "13.0") + FLASHINFER + KERNELS)
    planned = site.plan(playbook, check=None)
    outcome = site.apply(playbook, check=3)
    assert outcome.outcomes() == {
        "old-libraries": "changed",
        "torch": "changed",
        "flashinfer": "changed",
        "kernels": "failed",
    }
    foretold(planned, outcome, "torch", "flashinfer", "kernels")
    step = outcome.step("kernels")
    assert step["reason"] == "postcondition"
    observed = condition(step, "cuda_coherent")["observed"]
    assert observed.startswith("sgl-kernel 0.3.21 needs ")
    assert all(it in observed for it in ("libcudart.so.12", "libnvrtc.so.12", "sgl_kernel/sm100/common_ops.abi3.so"))
    figure(f"planned {planned.outcomes()}; diagnosed {step['diagnoses']}")
    assert codes(step) != []


def test_a_pin_that_pulls_torch_back_is_foretold_and_all_is_taken_back_by_hard_links(site, fresh):
    """torchaudio 2.9.1 asks for torch 2.9.1. What the run had done by then is undone, in gigabytes."""
    venv = fresh(*CU128[:2])
    before = tree(venv)
    playbook = site.playbook(REMOVED + TORCH % (CU130, "13.0") + PINNED_BACK % "rollback")
    planned = site.plan(playbook, check=3)
    assert planned.step("companion")["outcome"] == "would-fail"
    assert planned.step("companion")["reason"] == "regression"
    since = time.monotonic()
    outcome = site.apply(playbook, check=3)
    figure(f"upgrade, regression and rollback: {time.monotonic() - since:.1f} s")
    step = outcome.step("companion")
    # The libraries for CUDA 12 come back over those for 13: the step's own environment is no longer whole either.
    assert (outcome.node["stopped_at"], step["reason"]) == ("companion", "postcondition")
    assert condition(step, "environment_intact")["verdict"] == "not-held"
    assert "SP210" in codes(step)
    assert outcome.outcomes() == {"old-libraries": "rolled-back", "torch": "rolled-back", "companion": "failed"}
    foretold(planned, outcome, "companion")
    assert tree(venv) == before
    assert [path.name for path in site.sandbox.home.glob("*.stackplan-*")] == []


def test_a_run_is_taken_back_afterwards_from_a_snapshot_that_takes_no_room(site, fresh):
    venv = fresh(*CU128[:2])
    before, files = tree(venv), inodes(venv)
    playbook = site.playbook(REMOVED + TORCH % (CU130, "13.0"))
    planned = site.plan(playbook)
    done = site.apply(playbook)
    foretold(planned, done, "torch")
    (clone,) = site.sandbox.home.glob(".ml-env.stackplan-*")
    # Linked, not copied: the snapshot holds the very files that were there before.
    assert inodes(clone) == files
    outcome = site.run("rollback", done.report["run"], "--yes", check=0)
    assert outcome.outcomes() == {"old-libraries": "rolled-back", "torch": "rolled-back"}
    assert tree(venv) == before
    assert inodes(venv) == files
    # Both steps wrote to the one environment that is put back: each package is told once, with the first of them.
    moved = {it["name"]: it["after"] for it in outcome.step("old-libraries")["changes"]}
    assert (moved["torch"], moved["nvidia-cudnn-cu12"]) == ("2.9.1", "9.10.2.21")
    assert outcome.step("torch")["changes"] == []
