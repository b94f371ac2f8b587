"""`cuda_coherent` and `same_build` on a node of the lab, whose stand-ins are ELF files that need libcudart.so.12."""

import json
import os

import pytest

from tests import command_line

STATED = """
stackplan: 1
name: coherent
nodes: gpu-01
steps:
  - id: torch
    python_packages:
      venv: ~/ml-env
      packages: [torch, torchvision, torchaudio]
      index_url: "{index}/whl/cu130/"
      upgrade: true
    postconditions:
      - cuda_coherent: {{venv: ~/ml-env, cuda: 13.0}}
      - same_build: {{venv: ~/ml-env, packages: [torch, torchvision, torchaudio], by: label}}
      - cuda_coherent: {{venv: ~/ml-env, cuda: 12.8}}
"""


NEEDED = "needs libcudart.so.12 (found in nvidia/cuda_runtime/lib) in"
OFFENDERS = [
    f"sgl-kernel 0.3.21 {NEEDED} sgl_kernel/sm100/common_ops.abi3.so",
    f"torch 2.10.0+cu128 {NEEDED} torch/lib/libc10_cuda.so, torch/lib/libtorch_cuda.so",
    f"torchaudio 2.10.0+cu128 {NEEDED} torchaudio/_C.so",
    f"torchvision 0.25.0+cu128 {NEEDED} torchvision/_C.so",
]


@pytest.fixture
def conditions(lab, tmp_path):
    """Return what the command line says of the conditions of the only step on gpu-01, in their order."""

    def run(command):
        playbook = tmp_path / "p.yaml"
        playbook.write_text(STATED.format(index=lab.index.url))
        environment = {**os.environ, "STACKPLAN_STATE": str(tmp_path / "state")}
        words = (command, playbook, "-i", lab.inventory, "--format", "json")
        done = command_line.run(*words, environment=environment)
        (node,) = json.loads(done.stdout)["nodes"]
        (step,) = node["steps"]
        return step["conditions"]

    return run


def test_the_stack_of_cuda_12_is_coherent_and_against_13_every_offender_is_named(conditions):
    against, family, coherent, _ = conditions("verify")
    assert (coherent["verdict"], family["verdict"]) == ("held", "held")
    assert coherent["observed"] == "CUDA 12 (torch 12.8, the files of 4 distributions)"
    assert against["observed"].split("; ") == ["torch 2.10.0+cu128 is built for CUDA 12.8", *OFFENDERS]


def test_a_plan_is_red_where_kernels_would_stay_behind_torch(conditions):
    foretold, family, *_ = conditions("plan")
    assert (foretold["verdict"], foretold["predicted"]) == ("not-held", "not-held")
    assert foretold["predicted_observed"] == OFFENDERS[0]
    assert family["predicted"] == "held"
