"""Faults of packages in many spellings, each beside what looks like it and is none."""

import pytest

HEAD = 'preconditions:\n  - gpu: {driver: ">=580.65.06"}'
CU = "index_url: https://download.pytorch.org/whl/cu130"
CHECK = "command: {run: /opt/check}"
TORCH = """
  - id: {id}
    python_packages:
      venv: {venv}
      packages: [torch==2.11.0+cu130, torchvision==0.26.0+cu130, torchaudio==2.11.0+cu130]
      {more}
      index_url: https://download.pytorch.org/whl/cu130
    postconditions:
      - torch: {{venv: {venv}, version: ==2.11.0, cuda: 13.0}}
"""
LOOK = """
  - id: look
    clear_caches: {{{where}}}
    postconditions:
      - kernel_launch: {{{where}}}
"""


def _torch(*environments, more=""):
    return "".join(TORCH.format(id=f"t{at}", venv=it, more=more) for at, it in enumerate(environments))


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("venv: ~/a", {"SP122": ["t1"], "SP123": ["t1"]}),
        ("venv: ~/b/", {"SP122": ["t0"], "SP123": ["t0"]}),
        ("python: ~/b/bin/python3.12", {"SP122": ["t0"], "SP123": ["t0"]}),
        # Perhaps one of the two by another name.
        ("venv: /home/ops/a", {}),
        ("python: python3", {}),
    ],
)
def test_each_environment_needs_a_look_of_its_own(review, where, found):
    told = {}
    for it in review(_torch("~/a", "~/b") + LOOK.format(where=where), head=HEAD).findings:
        told.setdefault(it.code, []).append(it.step)
    assert told == found


def test_all_environments_that_nothing_looks_at_are_named(review):
    found = review(_torch("~/a", "~/b", "~/c") + LOOK.format(where="venv: ~/b"), head=HEAD).findings
    assert sorted((it.code, it.step) for it in found) == [
        (code, it) for code in ("SP122", "SP123") for it in ("t0", "t2")
    ]


def test_an_environment_that_is_made_anew_needs_none(review):
    steps = _torch("~/a", more="create: {}") + _torch("~/b").replace("t0", "t1") + LOOK.format(where="venv: ~/b")
    assert review(steps, head=HEAD).findings == ()


@pytest.mark.parametrize(
    ("packages", "postcondition", "expected"),
    [
        ("sglang==0.5.16", 'package: {venv: ~/e, name: sglang, version: ">=0.4"}', True),
        ("sglang==0.5.16", 'package: {venv: ~/e, name: SGLang, version: "<0.6"}', True),
        ("sglang>=0.5.16", 'package: {venv: ~/e, name: sglang, version: ">0.4,<1"}', True),
        ("sglang>=0.5.16", "python_import: {venv: ~/e, modules: [sglang]}", True),
        ("sglang~=0.5.16", "package: {venv: ~/e, name: sglang}", True),
        ("sglang==0.5.*", 'package: {venv: ~/e, name: sglang, version: ">=0.4"}', True),
        ("numpy==2.1.0, sglang==0.5.16", 'package: {venv: ~/e, name: sglang, version: ">=0.4"}', True),
        ("torch==2.11.0", "torch: {venv: ~/e}", True),
        ("torch==2.11.0", 'torch: {venv: ~/e, version: ">=2.4"}', True),
        ("sglang==0.5.16", "package: {venv: ~/e, name: sglang, version: 0.5.16}", False),
        ("sglang==0.5.16", 'package: {venv: ~/e, name: sglang, version: ">=0.5.16"}', False),
        ("sglang==0.5.16", 'not: {package: {venv: ~/e, name: sglang, version: "<0.5.16"}}', False),
        ("sglang>=0.5.16", 'package: {venv: ~/e, name: sglang, version: ">=0.5.16"}', False),
        ("sglang", "python_import: {venv: ~/e, modules: [sglang]}", False),
        ("transformers, accelerate>=1.0", "python_import: {venv: ~/e, modules: [transformers, accelerate]}", False),
        ("torch==2.12.0.dev20260101", 'torch: {venv: ~/e, version: ">=2.12.0.dev0"}', False),
        ("torch==2.11.0", 'torch: {venv: ~/e, version: ">=2.4", cuda: 13.0}', False),
        ("vllm==0.15.0", 'package: {venv: ~/e, name: vllm, version: ">=0.4", local: cu130}', False),
        ("sglang==0.5.16", 'package: {venv: ~/e, name: numpy, version: ">=1"}', False),
    ],
)
def test_a_postcondition_that_an_older_version_holds(codes_of_packages, packages, postcondition, expected):
    listed = ", ".join(f'"{it}"' for it in packages.split(", "))
    assert ("SP132" in codes_of_packages(f"packages: [{listed}]", postcondition, head=HEAD)) is expected


def test_what_is_said_of_a_version_that_reaches_too_far_down(review):
    (finding,) = review("""
  - id: one
    python_packages: {venv: ~/e, packages: [sglang==0.5.16, "openai>=2"]}
    postconditions:
      - python_import: {venv: ~/e, modules: [sglang, openai]}
      - package: {venv: ~/e, name: openai, version: ">=1"}
""").findings
    assert finding.code == "SP132"
    assert "version: " in (finding.source or "")
    assert finding.summary == (
        "the postcondition holds with any openai that is `>=1`: the step is skipped where an old one is"
    )
    assert finding.remedy == "state its version: `package: {name: openai, version: …}`"


@pytest.mark.parametrize(
    ("arguments", "postcondition", "expected"),
    [
        ('packages: ["vllm>=0.15"], upgrade: [vllm]', 'package: {venv: ~/e, name: vllm, version: ">=0.15"}', True),
        ("packages: [torch], upgrade: true", 'torch: {venv: ~/e, version: ">2.4"}', True),
        ("packages: [torch], upgrade: true", 'torch: {venv: ~/e, version: ">=2.4,<3"}', False),
        ("packages: [torch], upgrade: true", "torch: {venv: ~/e, version: 2.11.0}", False),
        ("packages: [torch], upgrade: true", 'torch: {venv: ~/e, version: ">=2.4", cuda: 13.0}', False),
        ("packages: [vllm], upgrade: true", 'package: {venv: ~/e, name: vllm, version: "~=0.15.1"}', False),
        ("packages: [vllm], upgrade: true", 'package: {venv: ~/e, name: vllm, version: ">=0.15", local: cu130}', False),
        (f"packages: [torch], upgrade: true, {CU}", 'torch: {venv: ~/e, version: ">=2.4"}', False),
    ],
)
def test_an_upgrade_that_a_lower_bound_does_not_notice(codes_of_packages, arguments, postcondition, expected):
    assert ("SP112" in codes_of_packages(arguments, postcondition, head=HEAD)) is expected


@pytest.mark.parametrize(
    ("arguments", "stated", "expected"),
    [
        (
            "packages: [torchaudio], reinstall: true, index_url: https://m.example.com/pytorch/cu128/simple",
            "13.0",
            True,
        ),
        ("packages: [xformers==0.0.33+cu128]", "13", True),
        ("packages: [torch==2.10.0+cu128]", "13.0", True),
        # Beside torch the major counts, and nothing else of what the condition looks at.
        ("packages: [xformers==0.0.33+cu128]", "12.9", False),
        (
            "packages: [torchaudio], reinstall: true, index_url: https://m.example.com/pytorch/cu130/simple",
            "13.0",
            False,
        ),
        ("packages: [xformers==0.0.33+cu128]", "13.0, allow: [XFormers]", False),
        ("packages: [numpy==2.1.0], index_url: https://m.example.com/cu128/simple", "13.0", False),
    ],
)
def test_a_build_in_an_environment_that_is_to_speak_another_cuda(codes_of_packages, arguments, stated, expected):
    found = codes_of_packages(arguments, f"cuda_coherent: {{venv: ~/e, cuda: {stated}}}", head=HEAD)
    assert ("SP120" in found) is expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("packages: [xformers], torch_backend: cu130", True),
        ("packages: [vllm], torch_backend: cu130", True),
        ("packages: [xformers], torch_backend: cu130, upgrade: true", False),
        ("packages: [xformers], torch_backend: auto", False),
        ("packages: [numpy], torch_backend: cu130", False),
        ("packages: [xformers], torch_backend: cu130, create: {}", False),
    ],
)
def test_a_name_beside_a_backend(codes_of_packages, arguments, expected):
    assert ("SP101" in codes_of_packages(arguments, CHECK, head=HEAD)) is expected


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        ("deep-gemm @ git+https://github.com/deepseek-ai/DeepGEMM", True),
        ("deep-gemm @ git+https://github.com/deepseek-ai/DeepGEMM@main", True),
        ("deep-gemm@ git+https://github.com/deepseek-ai/DeepGEMM.git@nightly#egg=deep-gemm", True),
        ("git+https://github.com/deepseek-ai/DeepGEMM@HEAD#subdirectory=python", True),
        ("deep-gemm @ git+ssh://git@github.com/deepseek-ai/DeepGEMM", True),
        ("deep-gemm @ git+https://github.com/deepseek-ai/DeepGEMM@feature/x", True),
        ("deep-gemm @ git+https://github.com/deepseek-ai/DeepGEMM@c9f8b34dcdacc20aa746b786f983492c51072870", False),
        ("deep-gemm @ git+ssh://git@github.com/deepseek-ai/DeepGEMM@c9f8b34", False),
        ("deep-gemm @ git+https://github.com/deepseek-ai/DeepGEMM@v2.1.0", False),
        ("deep-gemm @ git+https://github.com/deepseek-ai/DeepGEMM@{{ commit }}", False),
        ("deep-gemm==2.1.0", False),
    ],
)
def test_a_repository_without_a_commit(codes_of_packages, requirement, expected):
    assert ("SP114" in codes_of_packages(f'packages: ["{requirement}"]', CHECK, head=HEAD)) is expected


@pytest.mark.parametrize(
    ("environment", "arguments", "expected"),
    [
        ("UV_EXTRA_INDEX_URL: https://pypi.example.com/simple", "", True),
        ("UV_INDEX: https://pypi.example.com/simple", "", True),
        ("PIP_EXTRA_INDEX_URL: https://pypi.example.com/simple", ", installer: pip", True),
        ("UV_INDEX_URL: https://pypi.example.com/simple", f", {CU}", True),
        # A usual index for the usual one; a word that the installer does not read.
        ("UV_INDEX_URL: https://pypi.example.com/simple", "", False),
        ("PIP_EXTRA_INDEX_URL: https://pypi.example.com/simple", "", False),
        ("UV_HTTP_TIMEOUT: 300", "", False),
    ],
)
def test_an_index_in_the_environment(codes, environment, arguments, expected):
    step = f"""
  - id: one
    env: {{{environment}}}
    python_packages: {{venv: ~/e, packages: [numpy==2.1.0]{arguments}}}
    postconditions:
      - package: {{venv: ~/e, name: numpy, version: ==2.1.0}}
"""
    assert ("SP117" in codes(step)) is expected


INSTALLING = [
    'PIP="$HOME/ml-env/bin/pip"\n$PIP install sglang==0.5.16',
    'PIP="$HOME/ml-env/bin/pip"; "$PIP" install sglang==0.5.16',
    "E=$(mktemp -d)\nP=${E}/bin/pip\n$P install sglang==0.5.16",
    'PY="${HOME}/ml-env/bin/python"\n"$PY" -m pip install sglang==0.5.16',
    "export UV=$HOME/.local/bin/uv\n$UV pip install sglang==0.5.16",
    'PIP="sudo $HOME/ml-env/bin/pip"\n$PIP install sglang==0.5.16',
    'PIP="$HOME/ml-env/bin/pip"\ninstall_it() { $PIP install sglang==0.5.16; }\ninstall_it',
]
INSTALLING_NOTHING = [
    'PIP="$HOME/ml-env/bin/pip"\n$PIP list',
    'PIP="$HOME/ml-env/bin/pip"\necho "$PIP install sglang"',
    'P="$HOME/bin/pip-audit"\n$P install',
]


def test_an_installer_that_a_variable_names(spelled):
    assert spelled.scripts([*INSTALLING, *INSTALLING_NOTHING], "SP163") == INSTALLING


def test_every_rule_on_installers_reads_what_a_variable_names(codes_of_script):
    script = 'PIP="/home/ops/e/bin/pip"\nP="$PIP"\nsudo $P install a==1+cu130 || sudo $P install a==1'
    assert codes_of_script(script) == ["SP161", "SP163", "SP164"]


NVCC = [
    'command: {run: "nvcc --version", stdout: {contains: release 13.0}}',
    'command: {run: "$(command -v nvcc) --version | grep -q 13.0"}',
    'command: {run: "\\"$(which nvcc)\\" --version | grep -q 13.0"}',
    'command: {run: "`type -P nvcc` --version | grep -q 13.0"}',
    'command: {run: "N=$(command -v nvcc); $N --version | grep -q 13.0"}',
    'command: {run: "N=nvcc; $N --version | grep -q 13.0"}',
    "nvcc: {path: nvcc, release: 13.0}",
]
NVCC_OF_ONE_PREFIX = [
    'command: {run: "/usr/local/cuda-13.0/bin/nvcc --version | grep -q 13.0"}',
    'command: {run: "command -v nvcc | grep -q cuda-13.0"}',
    'command: {run: "echo nvcc | grep -q nvcc"}',
    "nvcc: {path: /usr/local/cuda-13.0/bin/nvcc, release: 13.0}",
    "nvcc: {prefix: /usr/local/cuda-13.0, release: 13.0}",
]


def test_the_nvcc_of_the_path(spelled):
    assert spelled.conditions([*NVCC, *NVCC_OF_ONE_PREFIX], "SP134") == NVCC
