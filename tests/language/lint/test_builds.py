"""Builds for CUDA, in every way in which an index, a requirement or a condition can name one."""

import pytest

HEAD = 'preconditions:\n  - gpu: {driver: ">=580.65.06"}'
CU130 = "https://download.pytorch.org/whl/cu130"
CU128 = "https://download.pytorch.org/whl/cu128"
CHECK = "command: {run: /opt/check}"
FILE = """
  - id: file
    file:
      path: /srv/requirements.txt
      content: |
        # torch for CUDA 13
        --index-url https://download.pytorch.org/whl/cu130
        torch    # whichever
        torchvision
    postconditions:
      - file: {path: /srv/requirements.txt}
"""


@pytest.fixture
def found(codes):
    """Return the codes of what is found in steps of arguments, a postcondition and an environment each."""

    def looked(*steps, before="", head=HEAD):
        text = "".join(
            f"  - id: s{at}\n    env: {step.get('env', '{}')}\n"
            f"    python_packages: {{venv: {step.get('venv', '~/e')}, {step['arguments']}}}\n"
            f"    postconditions:\n      - {step.get('post', CHECK)}\n"
            for at, step in enumerate(steps)
        )
        return codes(before + text, head=head)

    return looked


VARIABLES = [
    "UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS",
]  # fmt: skip


@pytest.mark.parametrize("name", VARIABLES)
def test_a_name_beside_an_index_in_the_environment(found, name):
    environment = f'{{{name}: "{CU130}"}}'
    assert "SP101" in found({"arguments": "packages: [xformers]", "env": environment})
    assert "SP101" not in found({"arguments": "packages: [xformers], upgrade: true", "env": environment})
    back = f'{{{name}: "{CU128}"}}'
    arguments = "packages: [torch], upgrade: true"
    assert "SP103" in found({"arguments": arguments, "env": back}, head="name: rollback")


@pytest.mark.parametrize(
    ("arguments", "environment", "expected"),
    [
        ("packages: [torch], torch_backend: cu130", "{}", True),
        ("packages: [torch]", "{UV_TORCH_BACKEND: cu130}", True),
        (f"requirements: [torch, torchvision], index_url: {CU130}", "{}", True),
        ("requirements: /srv/requirements.txt", "{}", True),
        ("requirements: /srv/requirements.txt, upgrade: true", "{}", False),
        ("requirements: /srv/others.txt", "{}", False),
        ("packages: [sglang], torch_backend: cu130", "{}", False),
        ("packages: [torch], torch_backend: cu130, create: {}", "{}", False),
        ("packages: [torch], torch_backend: cpu, reinstall: true", "{}", False),
    ],
)
def test_a_name_beside_whatever_leads_to_an_index(found, arguments, environment, expected):
    assert ("SP101" in found({"arguments": arguments, "env": environment}, before=FILE)) is expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (f"pip install torch --index-url {CU130}", True),
        (f"pip install -i {CU130} torch", True),
        (f"pip install -i{CU130} torch", True),
        (f"pip install torch --extra-index-url={CU130}", True),
        (f"UV_INDEX_URL={CU130} uv pip install torch", True),
        (f"export PIP_INDEX_URL={CU130}; pip install torch", True),
        (f"~/e/bin/python -m pip install torch -f {CU130}/", True),
        ("uv pip install --torch-backend cu130 torch", True),
        (f"uv pip install --python ~/e torch --default-index {CU130}", True),
        (f"INDEX={CU130}; pip install torch --index-url $INDEX", True),
        (f"pip install -U torch --index-url {CU130}", False),
        (f"uv pip install --reinstall-package torch torch -i {CU130}", False),
        (f"pip install --force-reinstall torch -i {CU130}", False),
        (f"pip install torch==2.11.0+cu130 -i {CU130}", False),
        (f"uv venv ~/e && uv pip install torch -i {CU130}", False),
        (f"python3 -m venv ~/e && ~/e/bin/pip install torch -i {CU130}", False),
        (f"pip install --target /srv/lib torch -i {CU130}", False),
        (f"pip install -r others.txt -i {CU130}", False),
        (f"pip download torch -i {CU130}", False),
        ("pip install torch", False),
    ],
)
def test_a_name_beside_an_index_in_a_script(codes_of_script, script, expected):
    assert ("SP101" in codes_of_script(script)) is expected


def test_a_way_back_in_a_script(codes):
    step = "  - id: rollback\n    run: {{script: '{}'}}\n    postconditions:\n      - file: {{path: /x}}\n"
    assert "SP103" in codes(step.format(f"uv pip install -U torch==2.10.0 -i {CU128}"))
    assert "SP103" not in codes(step.format(f"uv pip install -U torch==2.10.0+cu128 -i {CU128}"))


INSTALLED = [
    "packages: [torch==2.11.0+cu130]",
    "packages: [torch], torch_backend: cu130, upgrade: true",
    f"packages: [torch], index_url: {CU130}, upgrade: true",
    "packages: [/srv/torch-2.11.0+cu130-cp312-cp312-linux_x86_64.whl]",
    f'packages: ["{CU130}/torch-2.11.0%2Bcu130-cp312-cp312-manylinux_2_28_x86_64.whl#sha256=aa"]',
    f'packages: ["torch @ {CU130}/torch-2.11.0%2Bcu130-cp312-cp312-manylinux_2_28_x86_64.whl#sha256=aa"]',
]
AGAINST = [
    "torch: {venv: ~/e, cuda: 12.8}",
    "torch: {venv: ~/e, cuda: 12}",
    "torch: {venv: ~/e, cuda: none}",
    'torch: {venv: ~/e, version: "==2.11.0+cu128"}',
    "cuda_coherent: {venv: ~/e, cuda: 12.8}",
    "package: {venv: ~/e, name: torch, local: cu128}",
    'package: {venv: ~/e, name: torch, version: "==2.11.0+cu128"}',
    "python: {venv: ~/e, expr: torch.version.cuda, imports: [torch], equals: 12.8}",
    'python: {venv: ~/e, expr: torch.__version__, imports: [torch], contains: "+cu128"}',
    'command: {run: "~/e/bin/python -c \'import torch; print(torch.version.cuda)\'", stdout: "12.8"}',
]
AGREEING = [
    "torch: {venv: ~/e, cuda: 13.0}",
    "torch: {venv: ~/e, cuda: 13}",
    "cuda_coherent: {venv: ~/e}",
    "cuda_coherent: {venv: ~/e, cuda: 13}",
    "package: {venv: ~/e, name: torch, local: cu130}",
    "not: {torch: {venv: ~/e, cuda: 12.8}}",
    "python: {venv: ~/e, expr: torch.version.cuda, imports: [torch], equals: 13.0}",
]


@pytest.mark.parametrize("arguments", INSTALLED)
def test_a_build_and_a_postcondition_that_states_another(found, arguments):
    assert [it for it in AGAINST if "SP120" not in found({"arguments": arguments, "post": it})] == []
    assert [it for it in AGREEING if "SP120" in found({"arguments": arguments, "post": it})] == []


@pytest.mark.parametrize("build", ["rocm7.0", "xpu", "cpu"])
def test_a_build_without_cuda_whatever_it_is_for(found, build):
    index = f"packages: [torch==2.11.0], index_url: https://download.pytorch.org/whl/{build}, upgrade: true"
    for arguments in (index, f"packages: [torch==2.11.0+{build}]"):
        assert "SP120" not in found({"arguments": arguments, "post": "torch: {venv: ~/e, cuda: none}"})
        assert "SP120" in found({"arguments": arguments, "post": "torch: {venv: ~/e, cuda: 13.0}"})


KERNEL = {"arguments": "packages: [sgl-kernel==0.3.21+cu128]"}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({"arguments": "packages: [torch==2.11.0]", "post": "torch: {venv: ~/e, cuda: 13.0}"}, KERNEL, True),
        ({"arguments": "packages: [torch==2.11.0]", "post": "cuda_coherent: {venv: ~/e, cuda: 13}"}, KERNEL, True),
        ({"arguments": "packages: [torch], torch_backend: cu130, upgrade: true"}, KERNEL, True),
        ({"arguments": "packages: [torch]", "env": "{UV_TORCH_BACKEND: cu130}"}, KERNEL, True),
        ({"arguments": "packages: [torch], upgrade: true", "env": f'{{UV_INDEX_URL: "{CU130}"}}'}, KERNEL, True),
        (
            {"arguments": "packages: [torch==2.11.0+cu130]"},
            {"arguments": "packages: [/srv/sgl_kernel-0.3.21+cu128-cp39-abi3-manylinux2014_x86_64.whl]"},
            True,
        ),
        (
            {"arguments": "packages: [torch==2.11.0+cu130]"},
            {
                "arguments": "packages: [sglang==0.5.16]",
                "post": "package: {venv: ~/e, name: sgl-kernel, local: cu128}",
            },
            True,
        ),
        ({"arguments": "packages: [sgl-kernel==0.3.21+cu128, torch==2.11.0+cu130]"}, KERNEL, True),
        ({"arguments": "packages: [torch==2.11.0+cu130]"}, {**KERNEL, "venv": "~/other"}, False),
        ({"arguments": "packages: [torch==2.11.0+cu129]"}, KERNEL, False),
        ({"arguments": "packages: [torch==2.11.0+cpu]"}, KERNEL, False),
    ],
)
def test_builds_for_two_releases(found, first, second, expected):
    assert ("SP119" in found(first, second)) is expected
