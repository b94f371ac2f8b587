"""The cases in tests/facts and the true answers of the queries have one shape: neither end can drift from the other."""

import importlib
import json
import os
import socket
from pathlib import Path

import pytest

from stackplan.node import drains
from tests.node.elf_files import cache_file, elf_file

# Only a prediction says so, never a node; and what stands there only where metadata cannot be read.
SOMETIMES = {".build_unknown", ".distributions[].why"}
FACTS = Path(__file__).parents[2] / "facts"
SMI = """case "$1" in
  *compute-apps*) echo '41233, GPU-5c2b5f8e, python' ;;
  *) echo '0, GPU-5c2b5f8e, 580.95.05, 12.0, 97887, 0, Disabled, Enabled, NVIDIA B200' ;;
esac"""

# A stand-in for torch that has one GPU, on which nothing runs.
ONE_GPU = """
from types import SimpleNamespace
__version__, version = "2.10.0", SimpleNamespace(cuda="12.8")
cuda = SimpleNamespace(init=lambda: None, device_count=lambda: 1, get_device_name=lambda index: "NVIDIA B200",
                       get_arch_list=lambda: ["sm_120"], get_device_capability=lambda index: (12, 0))
"""


def recorded() -> dict[str, list[object]]:
    """Return the Known answers of all cases, by the kind of query."""
    found: dict[str, list[object]] = {}
    for path in sorted(FACTS.glob("*/*.json")):
        for row in json.loads(path.read_text("utf-8"))["answers"]:
            if "known" in row:
                found.setdefault(row["kind"], []).append(row["known"])
    return found


def shape(value: object, at: str = "") -> set[str]:
    """Return the paths of a JSON value's keys; those of a mapping by free names (modules, findings) are not told."""
    if isinstance(value, list):
        return {path for item in value for path in shape(item, f"{at}[]")}
    if not isinstance(value, dict) or at in (".modules", ".findings", ".values"):
        return set()
    return {f"{at}.{key}" for key in value} | {
        path for key, item in value.items() for path in shape(item, f"{at}.{key}")
    }


SLURM = (
    f"NodeName=gpu-01 NodeAddr=gpu-01 NodeHostName={os.uname().nodename} OS=Linux 6.1 State=IDLE+DRAIN Weight=1 "
    "Partitions=main Reason=CUDA 13 [stackplan 6b4c7ed9] [root@2026-12-02T00:40:08]"
)


CONTROLLED = {"ownerReferences": [{"kind": "ReplicaSet", "controller": True}]}
KUBERNETES = {
    "nodes": {"metadata": {"name": "gpu-01", "resourceVersion": "4711"}},
    "pods": {"metadata": {"name": "web", "namespace": "ml", **CONTROLLED}},
}


@pytest.fixture
def drained(context, tmp_path, monkeypatch):
    """Put the record of a drain where the node program keeps it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    before = {"state": "IDLE", "base": "IDLE", "flags": [], "reason": None, "reason_user": None, "reason_since": None}
    drains.write("slurm-gpu-01", {"mark": "6b4c7ed9", "reason": "CUDA 13", "before": before, "since": 1796172008.5})


@pytest.fixture
def arguments(drained, environment, programs, root, tmp_path):
    environment.install("torch", "2.10.0", {"torch/_C.py": "def _cuda_getArchFlags(): return 'sm_120'\n"})
    environment.write("torch/__init__.py", f"import torch._C\n{ONE_GPU}")
    kernel = tmp_path / "home/.triton/cache" / ("0f" * 32) / "cuda_utils.so"
    kernel.parent.mkdir(parents=True)
    kernel.touch()
    os.utime(kernel, (1, 1))
    for name, size in (("nvidia-nccl-cu12", 0), ("nvidia-nccl-cu13", 7)):
        module = elf_file(["libnccl.so.2"], soname="libnccl.so.2")
        environment.write("nccl.so", module)
        environment.write(f"{name}-1.dist-info/RECORD", f"nccl.so,,{len(module) + size}\n")
    environment.write("torch/version.py", "__version__ = '2.10.0'\ncuda = '12.8'\n")
    programs.write("nvidia-smi", SMI)
    programs.write("nvcc", "echo 'Cuda compilation tools, release 13.0, V13.0.88'")
    programs.write("scontrol", f"echo '{SLURM}'")
    programs.write("squeue", "")
    lists = {word: json.dumps({"items": [item]}) for word, item in KUBERNETES.items()}
    programs.write("kubectl", f"case \"$*\" in *nodes*) echo '{lists['nodes']}' ;; *) echo '{lists['pods']}' ;; esac")
    programs.write("dpkg", "echo amd64")
    programs.write("dpkg-query", "")
    programs.write("systemctl", "printf 'Id=nv.service\\nLoadState=loaded\\nActiveState=active\\nSubState=running\\n'")
    (root / "proc/977/fd").mkdir(parents=True)
    (root / "proc/977/fd/3").symlink_to("/dev/nvidia0")
    (root / "proc/977/maps").touch()
    (root / "sys/module/nvidia").mkdir(parents=True)
    (root / "sys/module/nvidia/version").write_text("580.95.05")
    (root / "etc").mkdir()
    (root / "etc/ld.so.cache").write_bytes(cache_file([("libcuda.so.1", "/usr/lib/libcuda.so.1")]))
    (root / "lib/modules" / os.uname().release).mkdir(parents=True)
    (tmp_path / "content").touch()
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    return {
        "apt_package": {"name": "libnccl2"},
        "command": {"run": "true"},
        "cuda_libraries": environment.asked,
        "disk": {"path": str(tmp_path)},
        "driver_parts": {},
        "distributions": environment.asked,
        "file": {"path": str(tmp_path / "content"), "content": True},
        "gpu_driver": {},
        "gpu_processes": {},
        "gpus": {},
        "http": {"url": f"http://127.0.0.1:{port}/"},
        "kernel_caches": environment.asked,
        "kernel_launch": {**environment.asked, "gpus": None},
        "library": {"name": "libc.so.6", "path": "/", **environment.asked},
        "link_end": {"path": "/usr/local/cuda"},
        "imports": {**environment.asked, "modules": ["torch"]},
        "kubernetes_node": {"node": "gpu-01"},
        "nvcc": {"path": str(programs.folder / "nvcc")},
        "os": {},
        "port": {"host": "127.0.0.1", "port": port},
        "python_value": {**environment.asked, "expr": "1", "imports": []},
        "records": environment.asked,
        "service": {"name": "nv"},
        "shell_cuda": {},
        "slurm_node": {"node": "gpu-01"},
        "sudo": {"user": "root"},
        "torch": environment.asked,
        "torch_arch": environment.asked,
    }


def test_recorded_and_true_answers_have_one_shape(arguments, context):
    cases = recorded()
    assert set(arguments) == set(cases)
    for kind, asked in arguments.items():
        answer = importlib.import_module(f"stackplan.node.queries.{kind}").answer(asked, context())
        json.dumps(answer)
        assert shape(answer) == set().union(*map(shape, cases[kind])) - SOMETIMES, kind
