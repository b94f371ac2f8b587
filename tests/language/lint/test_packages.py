"""Rules about packages: what is healthy stays quiet, and each way of writing the fault is found."""

import pytest

CU = "index_url: https://download.pytorch.org/whl/cu130"
DRIVER = 'preconditions:\n  - gpu: {driver: ">=580"}\n'
STATED = ("package: {venv: ~/e, name: xformers, local: cu130}",)


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (f"packages: [xformers], {CU}", ["SP101"]),
        (f'packages: ["xformers>=0.0.30,<0.1"], {CU}', ["SP101"]),
        ("packages: [xformers], find_links: https://wheels.example.com/cu130/", ["SP101"]),
        (f"packages: [xformers], {CU}, upgrade: [torch]", ["SP101"]),
        ("packages: [xformers], index_url: https://pypi.example.com/simple", ["SP101"]),
        (f"packages: [xformers], {CU}, upgrade: [xformers]", []),
        (f"packages: [xformers], {CU}, reinstall: true", []),
        (f"packages: [xformers], {CU}, create: {{}}", []),
        (f"packages: [xformers==0.0.33+cu130], {CU}", []),
        (f"packages: [xformers==0.0.33], {CU}", ["SP102"]),
        (f"packages: [xformers==0.0.33], {CU}, reinstall: [xformers]", []),
        ("packages: [xformers==0.0.33], index_url: https://pypi.example.com/simple", []),
        ("packages: [numpy], index_url: https://pypi.example.com/simple", []),
        (f'packages: ["{{{{ name }}}}"], {CU}', ["SP101"]),
        (f'packages: ["{{{{ unknown }}}}"], {CU}', []),
        ('packages: [xformers], index_url: "{{ unknown }}"', []),
        (f"packages: [./xformers.whl], {CU}", []),
    ],
)
def test_a_name_beside_an_index(codes_of_packages, arguments, found):
    assert (
        codes_of_packages(
            arguments, *STATED, head=DRIVER + ("vars: {name: xformers}" if "{{ name" in arguments else "")
        )
        == found
    )


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("http://127.0.0.1:8000/simple", []),
        ("http://localhost/simple", []),
        ("http://[::1]:9/simple", []),
        ("http://localhost.example.com/simple", ["SP115"]),
        ("http://pypi.example.com/simple", ["SP115"]),
        ("http://{{ mirror }}/simple", []),
    ],
)
def test_plain_http_is_for_loopback(codes_of_packages, url, found):
    assert codes_of_packages(f'packages: [numpy], index_url: "{url}"') == found


@pytest.mark.parametrize(
    ("package", "found"),
    [
        ("sgl-kernel==0.3.21", []),
        ("sgl-kernel==0.4.0", ["SP109"]),
        ('"sgl-kernel>=0.4"', ["SP109"]),
        ("Flashinfer", ["SP109"]),
        ("nvidia-cublas-cu13", ["SP109"]),
        ("nvidia-nccl-cu13", []),
        ("nvidia-cublas-cu12", []),
        ("scikit-learn", []),
    ],
)
def test_names_of_the_past(codes_of_packages, package, found):
    assert codes_of_packages(f"packages: [{package}], no_deps: false") == found


def test_a_rollback_by_precondition(codes):
    steps = """
  - id: torchaudio
    preconditions:
      - package: {venv: ~/e, name: torchaudio, local: cu130}
    python_packages:
      venv: ~/e
      packages: [torchaudio]
      index_url: https://download.pytorch.org/whl/cu128
      upgrade: true
    postconditions:
      - package: {venv: ~/e, name: torchaudio, local: cu128}
"""
    assert codes(steps) == ["SP103"]
    assert codes(
        steps.replace("cu128\n      upgrade", "cu132\n      upgrade").replace("local: cu128", "local: cu132")
    ) == ["SP121"]


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ('gpu: {driver: ">=580.65.06"}', []),
        ('gpu: {driver: ">=570"}', ["SP121"]),
        ("gpu: {count: 8}", ["SP121"]),
        ("driver_coherent: {cuda: 13.0}", []),
    ],
)
def test_the_driver_is_looked_at_first(codes_of_packages, condition, found):
    assert (
        codes_of_packages(
            f"packages: [xformers==0.0.33+cu130], {CU}", *STATED, head=f"preconditions: [{{{condition}}}]"
        )
        == found
    )


def test_builds_of_two_environments_do_not_mix(codes):
    step = """
  - id: {id}
    python_packages: {{venv: {venv}, packages: ["{package}"]}}
    postconditions:
      - package: {{venv: {venv}, name: {name}, local: {label}}}
      - cuda_coherent: {{venv: {venv}}}
      - no_stale_caches: {{venv: {venv}}}
"""
    torch = step.format(id="a", venv="~/a", package="torch==2.10.0+cu128", name="torch", label="cu128")
    torch = torch.replace("packages: [", "packages: [torchvision, torchaudio, ")
    other = {"package": "sgl-kernel==0.3.21+cu130", "name": "sgl-kernel", "label": "cu130"}
    assert codes(torch + step.format(id="b", venv="~/b", **other), head=DRIVER) == []
    assert codes(torch + step.format(id="b", venv="~/a", **other), head=DRIVER) == ["SP119"]


@pytest.mark.parametrize(
    ("postcondition", "found"),
    [
        ("torch: {venv: ~/e, cuda: 12.8}", ["SP120"]),
        ("torch: {venv: ~/e, cuda: 13.0}", []),
        ("torch: {venv: ~/e, cuda: 13}", []),
        ("any: [{torch: {venv: ~/e, cuda: 12.8}}, {torch: {venv: ~/e, cuda: 13.0}}]", []),
        ("not: {torch: {venv: ~/e, cuda: 12.8}}", []),
        ("package: {venv: ~/e, name: torchvision, local: cu128}", ["SP120"]),
        ("package: {venv: ~/e, name: sglang, local: cu128}", []),
    ],
)
def test_an_index_and_a_postcondition_of_two_releases(codes_of_packages, postcondition, found):
    arguments = f"packages: [torch==2.11.0+cu130, torchvision, torchaudio], {CU}, upgrade: true"
    more = ("cuda_coherent: {venv: ~/e}", "no_stale_caches: {venv: ~/e}")
    assert codes_of_packages(arguments, postcondition, *more, head=DRIVER) == found


@pytest.mark.parametrize(
    ("postcondition", "found"),
    [
        ("package: {venv: ~/e, name: numpy}", ["SP132"]),
        ("python_import: {venv: ~/e, modules: [numpy]}", ["SP132"]),
        ("package: {venv: ~/e, name: numpy, version: ==2.1.0}", []),
        ("python: {venv: ~/e, expr: numpy.__version__, imports: [numpy], equals: 2.1.0}", []),
        ("packages_consistent: {venv: ~/e}", []),
        ("disk: {path: /srv, free: 1GiB}", ["SP131"]),
    ],
)
def test_postconditions_that_hold_before(codes_of_packages, postcondition, found):
    assert codes_of_packages("packages: [numpy==2.1.0]", postcondition) == found


@pytest.mark.parametrize(
    ("action", "postcondition"),
    [
        ("file: {path: /etc/profile.d/cuda.sh, content: x}", "cuda_link: {nvcc: 13.0}"),
        ("file: {path: /etc/sudoers.d/60-sglang, content: x}", "sudo: {user: sglang}"),
        ("file: {path: /etc/slurm/slurm.conf, content: x}", "slurm_node: {state: available}"),
        ("file: {path: /etc/ld.so.conf.d/x.conf, content: x}", "python_import: {venv: ~/e, modules: [torch]}"),
        ("file: {path: ~/e/lib/python3.12/site-packages/x.pth, content: x}", "package: {venv: ~/e, name: x}"),
        ("symlink: {path: ~/e, target: /srv/e-2}", "torch: {venv: ~/e, version: 2.11.0}"),
        ("service: {name: slurmd, state: restarted}", "slurm_node: {state: available}"),
        ("service: {name: nvidia-fabricmanager, state: started}", "driver_coherent: {}"),
    ],
)
def test_what_an_action_may_bear_on_tells_its_work(codes, action, postcondition):
    assert codes(f"  - id: one\n    {action}\n    postconditions:\n      - {postcondition}\n") == []


@pytest.mark.parametrize(
    ("action", "postcondition", "proposed"),
    [
        ("file: {path: /etc/motd, content: x}", "os: {reboot_required: false}", "command, file, service"),
        ("file: {path: /etc/motd, content: x}", "package: {venv: ~/e, name: x}", "command, file, service"),
        ("symlink: {path: /x, target: /y}", "os: {reboot_required: false}", "command, cuda_link, file, nvcc"),
        ("service: {name: x, state: started}", "disk: {path: /srv, free: 1GiB}", "service"),
        ("apt_packages: {install: [hwloc]}", "disk: {path: /srv, free: 1GiB}", "apt_package, driver_coherent"),
    ],
)
def test_of_an_action_that_nothing_tells_of_only_conditions_that_do_are_proposed(
    review, action, postcondition, proposed
):
    steps = f"  - id: one\n    {action}\n    postconditions:\n      - {postcondition}\n"
    (finding,) = [it for it in review(steps).findings if it.code == "SP131"]
    assert finding.remedy == f"state one of {proposed}"


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ('command: {run: "true"}', ["SP130"]),
        ("command: {run: exit 0}", ["SP130"]),
        ('command: {run: "/opt/check; true"}', []),
        ('command: {run: "/opt/check || echo failed"}', ["SP130"]),
        ('command: {run: /opt/check, stdout: {matches: ".*"}}', []),
        ('command: {run: "echo x", stdout: {matches: ".*"}}', ["SP130"]),
        ('command: {run: "cat /x || true", stdout: {contains: ready}}', []),
        ('command: {run: "echo $HOSTNAME", stdout: gpu-01}', []),
        ('command: {run: "/opt/check || true", exit_code: 1}', []),
        ("disk: {path: /srv, free: 0GiB}", ["SP130"]),
        ('http: {url: "http://localhost:1/", body: {matches: ".*"}}', ["SP130"]),
        ('http: {url: "http://localhost:1/", body: {matches: ready}}', []),
        ('not: {command: {run: "true"}}', []),
    ],
)
def test_postconditions_that_cannot_fail(codes, condition, found):
    assert codes(f"  - id: one\n    checkpoint: {{}}\n    postconditions:\n      - {condition}\n") == found
