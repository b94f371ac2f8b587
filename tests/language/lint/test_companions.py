"""torch without its companions, told for each environment by itself."""

import pytest

INDEX = 'index_url: "https://download.pytorch.org/whl/cu130"'
TORCH = f'python_packages: {{venv: /srv/a, packages: ["torch==2.10.0+cu130"], {INDEX}}}'
ALONE = [
    f'python_packages: {{venv: /srv/b, packages: ["torchvision==0.25.0+cu130"], {INDEX}}}',
    f"python_packages: {{venv: ~/b, packages: [torchaudio], {INDEX}}}",
    "checkpoint: {}\n    preconditions:\n      - package: {venv: /srv/b, name: torchvision, absent: true}",
    "checkpoint: {}\n    preconditions:\n      - same_build: {venv: /srv/b, packages: [torch, torchvision]}",
]
TOGETHER = [
    f'python_packages: {{venv: /srv/a/, packages: ["torchvision==0.25.0+cu130"], {INDEX}}}',
    f"python_packages: {{venv: ~/a, packages: [torchaudio], {INDEX}}}",
    "checkpoint: {}\n    preconditions:\n      - package: {venv: /srv/a, name: torchvision, absent: true}",
    "checkpoint: {}\n    preconditions:\n      - package: {venv: /mnt/a, name: torchvision, absent: true}",
    "checkpoint: {}\n    preconditions:\n      - same_build: {venv: /srv/a, packages: [torch, torchvision]}",
]


@pytest.fixture
def torch_and(codes):
    """Return the codes of a playbook that moves torch, does something else, and works on another environment."""

    def found(other, torch=TORCH):
        steps = [torch, other, "python_packages: {venv: /srv/b, packages: [numpy]}"]
        proofs = "    postconditions:\n      - command: {run: /opt/check}\n"
        return codes("".join(f"  - id: s{at}\n    {it}\n{proofs}" for at, it in enumerate(steps)))

    return found


@pytest.mark.parametrize("other", ALONE)
def test_companions_of_another_environment_do_not_excuse(torch_and, other):
    assert "SP104" in torch_and(other)


@pytest.mark.parametrize("other", TOGETHER)
def test_companions_of_what_may_be_the_same_environment_do(torch_and, other):
    assert "SP104" not in torch_and(other)


def test_a_backend_moves_torch_as_an_index_does(torch_and):
    backed = 'python_packages: {venv: /srv/a, packages: ["torch==2.10.0+cu130"], torch_backend: cu130}'
    assert "SP104" in torch_and("checkpoint: {}", backed)
    assert "SP104" not in torch_and("checkpoint: {}", backed.replace("torch_backend", "create: {}, torch_backend"))
