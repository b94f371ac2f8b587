"""Playbooks as people write them, with nothing wrong in them: no rule may speak."""

import shutil
from pathlib import Path

import pytest

from stackplan.engine.bind import faults
from stackplan.language import linting, playbook
from stackplan.language.alone import render_alone
from stackplan.language.template import as_written

GOOD = sorted((Path(__file__).parent / "good").glob("*.yaml"))


FAULTS = [
    ("toolkit-torch-sglang", "cuda-toolkit-13-0", "cuda-13-0", "SP150"),
    ("toolkit-torch-sglang", "HF_TOKEN={{ hf_token }}", "HF_TOKEN=hunter22hunter22", "SP190"),
    ("toolkit-torch-sglang", '/bin/hf" download', '/bin/hf" download --token $HF_TOKEN', "SP191"),
    ("vllm-new-environment", 'kill "$server";', "pkill vllm;", "SP173"),
    ("driver", "nvidia-smi -pm 1", "sudo nvidia-smi -pm 1", "SP176"),
    ("health", "exit 1; fi", "echo down; fi", "SP130"),
    ("slurm-fleet", "      upgrade: true\n", "", "SP101"),
    ("files-and-services", "rm -f /opt/exporter/README.md", "/etc/init.d/nginx reload", "SP172"),
    ("files-and-services", "export CUDA_HOME=", "export LD_LIBRARY_PATH=", "SP181"),
    ("runfile-toolkit", '--extract="$work/x" --silent', "--silent --toolkit --driver", "SP171"),
    ("rollback", "local: cu128", "local: cu130", "SP120"),
    ("rollback", "sgl-kernel==0.3.21+cu128", "sgl-kernel==0.3.21+cu130", "SP119"),
]


def test_there_are_ten_of_them():
    assert len(GOOD) >= 10


@pytest.mark.parametrize(("name", "old", "new", "code"), FAULTS, ids=lambda it: it if it.startswith("SP1") else None)
def test_a_fault_that_is_put_into_one_is_found(tmp_path, name, old, new, code):
    folder = Path(__file__).parent / "good"
    text = (folder / f"{name}.yaml").read_text("utf-8")
    assert old in text
    shutil.copytree(folder / "files", tmp_path / "files")
    path = tmp_path / "p.yaml"
    path.write_text(text.replace(old, new, 1), "utf-8")
    read = playbook.read(path)
    assert code in {it.code for it in linting.review(read, render_alone(read).playbook).findings}


@pytest.mark.parametrize("path", GOOD, ids=lambda it: it.stem)
def test_a_good_playbook_is_left_alone(path):
    read = playbook.read(path)
    rendering = render_alone(read)
    wrong = [*rendering.wrong, *faults(rendering.playbook, as_written)]
    found = linting.review(read, rendering.playbook).findings
    assert [(it.code, str(it.at), it.summary) for it in (*wrong, *found)] == []
