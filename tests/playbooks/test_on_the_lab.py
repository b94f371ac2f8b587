"""The shipped playbooks on simulated nodes over real SSH: done, proven, nothing left to do; stopped where due."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from stackplan.lab.gpu import FAMILIES
from stackplan.lab.laboratory import running_lab
from tests import command_line

ROOT = Path(__file__).parents[2]
PLAYBOOKS = ROOT / "playbooks"
SERVING = ("--var", "serve=true")


@pytest.fixture(scope="module")
def lab():
    """Two nodes: gpu-01 has eight H200, gpu-02 what the lab's nodes have by default."""
    with running_lab(2, family="hopper") as running:
        (running.sandboxes["gpu-02"].folder / "gpu").write_text(FAMILIES["blackwell"])
        running.inventory.write_text(running.inventory.read_text() + "  blackwell: {groups: [hopper]}\n")
        yield running


@pytest.fixture
def call(lab, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "STACKPLAN_STATE": str(tmp_path / "state")}
    environment.pop("SSH_AUTH_SOCK", None)

    def run(command, name, node, *words, check):
        words = [command, PLAYBOOKS / f"{name}.yaml", "-i", lab.inventory, "-l", node, "--format", "json", *words]
        words += ["--yes"] if command == "apply" else []
        done = command_line.run(*map(str, words), environment=environment)
        assert done.returncode == check, f"exit status {done.returncode}\n{done.stdout[-6000:]}\n{done.stderr[-3000:]}"
        (node,) = json.loads(done.stdout)["nodes"]
        return node

    return run


def outcomes(node):
    return {step["id"]: step["outcome"] for step in node["steps"]}


def changes(node, step):
    (found,) = [it for it in node["steps"] if it["id"] == step]
    return {it["name"]: (it["before"], it["after"]) for it in found["changes"]}


def conditions(node, step):
    (found,) = [it for it in node["steps"] if it["id"] == step]
    return {it["kind"]: it for it in found["conditions"]}


def put_old_torch_back(lab, node):
    """Do what somebody does by hand who does not know of the playbook."""
    sandbox = lab.sandboxes[node]
    environment = {**sandbox.environment, "UV_NO_CONFIG": "1", "UV_CACHE_DIR": str(lab.folder / "uv-cache")}
    words = ("--index-url", f"{lab.index.url}/whl/cu128/", "torch==2.9.1+cu128")
    uv = [sandbox.programs / "uv", "pip", "install", "--python", sandbox.home / "ml-env" / "bin" / "python"]
    subprocess.run([*uv, *words], env=environment, check=True, capture_output=True)


@pytest.mark.timeout(600)
def test_hopper_to_cuda_13_and_back_again(call, lab):
    there = call("apply", "cuda13-hopper", "gpu-01", *SERVING, check=0)
    assert outcomes(there) == {
        "fabric": "skipped",
        "cuda-toolkit": "changed",
        "torch": "changed",
        "old-sgl-kernel": "changed",
        "sglang": "changed",
        "sgl-kernel": "changed",
        "flashinfer-cubin": "changed",
        "flashinfer-jit-cache": "changed",
        "kernel-caches": "satisfied",
        "server": "changed",
    }
    again = call("apply", "cuda13-hopper", "gpu-01", *SERVING, check=0)
    assert set(outcomes(again).values()) == {"satisfied", "skipped"}

    put_old_torch_back(lab, "gpu-01")
    options = f"-i {lab.inventory} -l gpu-01 --var serve=true"
    remedy = f"cuda13-hopper.yaml {options}` puts ~/ml-env right: step `torch` wants torch==2.11.0"
    found = call("verify", "cuda13-hopper", "gpu-01", *SERVING, check=3)
    told = [(step["id"], it) for step in found["steps"] for it in step["diagnoses"]]
    assert [step for step, _ in told] == ["torch", "sgl-kernel", "flashinfer-jit-cache"]
    for _, it in told:
        assert it["code"] == "SP251"
        assert it["remedy"].startswith("`stackplan apply ")
        assert it["remedy"].endswith(f"{remedy}, and 2.9.1+cu128 is there.")
    mended = call("apply", "cuda13-hopper", "gpu-01", "--step", "torch", check=0)
    assert changes(mended, "torch") == {"torch": ("2.9.1+cu128", "2.11.0+cu130")}

    # With nothing but the lab's inventory, as docs/playbooks.md says.
    back = call("apply", "rollback-cu128", "gpu-01", *SERVING, check=0)
    assert changes(back, "torch")["torch"] == ("2.11.0+cu130", "2.9.1+cu128")
    assert changes(back, "sglang")["sglang"] == ("0.5.16", "0.5.9")
    assert changes(back, "flashinfer-jit-cache")["flashinfer-jit-cache"] == ("0.6.14+cu130", "0.6.3+cu128")
    # The server runs all the while; that it answers is not enough, it has to be the one of the version that is there.
    assert outcomes(back)["server"] == "changed"
    assert conditions(back, "server")["http"]["verdict"] == "held"
    again = call("apply", "rollback-cu128", "gpu-01", *SERVING, check=0)
    assert set(outcomes(again).values()) == {"satisfied"}


def test_a_playbook_for_another_gpu_stops_before_anything_is_touched(call):
    stopped = call("apply", "cuda13-blackwell", "gpu-01", check=3)
    assert stopped["reason"] == "precondition"
    assert "changed" not in outcomes(stopped).values()
    assert not any(step["action"] and step["action"]["attempts"] for step in stopped["steps"])
    stopped = call("plan", "cuda13-hopper", "gpu-02", check=3)
    assert stopped["reason"] == "precondition"


@pytest.mark.timeout(300)
def test_vllm_comes_into_an_environment_of_its_own_and_serves(call, lab):
    done = call("apply", "vllm-cu130", "gpu-02", *SERVING, check=0)
    assert set(outcomes(done).values()) == {"changed", "satisfied"}
    assert changes(done, "vllm")["vllm"] == (None, "0.26.0")
    assert "torch" not in changes(done, "vllm")
    assert changes(done, "torch")["torch"] == (None, "2.11.0+cu130")
    again = call("apply", "vllm-cu130", "gpu-02", *SERVING, check=0)
    assert set(outcomes(again).values()) == {"satisfied"}


def test_stale_kernels_go_and_those_of_others_stay(call, lab):
    home = lab.sandboxes["gpu-02"].home
    stale = home / ".triton" / "cache" / ("A" * 52) / "cuda_utils.so"
    mine = home / ".triton" / "cache" / "notes.txt"
    stale.parent.mkdir(parents=True)
    for path in (stale, mine):
        path.write_text("x")
        os.utime(path, (1_600_000_000, 1_600_000_000))
    # sglang is not installed there: its unit starts, and ends over the import.
    stopped = call("apply", "clear-caches", "gpu-02", *SERVING, check=3)
    assert outcomes(stopped) == {"kernel-caches": "changed", "server": "failed"}
    assert (stopped["stopped_at"], stopped["reason"]) == ("server", "action")
    assert "sglang did not stay up" in stopped["steps"][1]["action"]["output_tail"]
    assert not stale.exists()
    assert mine.exists()
    assert set(outcomes(call("apply", "clear-caches", "gpu-02", check=0)).values()) == {"satisfied", "skipped"}
