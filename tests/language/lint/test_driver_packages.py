"""Packages that belong to a driver: of which release they are, and whose kernel module they bring."""

import pytest

BLACKWELL = 'preconditions:\n  - gpu: {compute_capability: "12.0", processes: none}'
CLOSED = [
    "cuda-drivers",
    "cuda-drivers-580=580.126.09-1",
    "cuda-drivers-580:amd64",
    "nvidia-driver-580-server",
    "nvidia-headless-no-dkms-580=580.126.09-0ubuntu0.24.04.1",
]
OPEN = ["nvidia-open-580=580.126.09-1", "nvidia-open", "nvidia-driver-580-server-open", "cuda-toolkit-13-0", "nvtop"]


@pytest.fixture
def of_package(codes):
    """Return the codes found where a package is installed on GPUs of a capability."""

    def found(package, head):
        return codes(
            f"  - id: one\n    apt_packages: {{install: ['{package}']}}\n"
            "    postconditions:\n      - driver_coherent: {cuda: 13.0}\n",
            head=head,
        )

    return found


@pytest.mark.parametrize("package", CLOSED)
def test_a_package_with_the_closed_module_is_found_for_blackwell_alone(of_package, package):
    assert "SP151" in of_package(package, BLACKWELL)
    assert "SP151" not in of_package(package, BLACKWELL.replace("12.0", "9.0"))


@pytest.mark.parametrize("package", OPEN)
def test_a_package_with_the_open_module_or_none_is_left_alone(of_package, package):
    assert "SP151" not in of_package(package, BLACKWELL)


CLOSED_SCRIPTS = [
    "sh /srv/NVIDIA-Linux-x86_64-580.95.05.run -s -m=kernel",
    "./NVIDIA-Linux-x86_64-580.95.05.run --silent --kernel-module-type=proprietary",
    "dnf -y module install nvidia-driver:580-dkms",
    "yum install -y kmod-nvidia-latest-dkms",
    "apt-get install -y cuda-drivers",
]
OPEN_SCRIPTS = [
    "sh /srv/NVIDIA-Linux-x86_64-580.95.05.run -s -m=kernel-open",
    "dnf -y module install nvidia-driver:open-dkms",
    "dnf -y module reset nvidia-driver",
    "apt-get install -y nvidia-open",
    "apt-get remove -y cuda-drivers",
]


def test_a_script_that_takes_the_closed_module_is_found(spelled):
    assert spelled.scripts(CLOSED_SCRIPTS, "SP151", head=BLACKWELL) == CLOSED_SCRIPTS
    assert spelled.scripts(CLOSED_SCRIPTS, "SP151") == []
    assert spelled.scripts(OPEN_SCRIPTS, "SP151", head=BLACKWELL) == []


@pytest.mark.parametrize(
    ("packages", "post", "expected"),
    [
        ("nvidia-fabricmanager-580", "service: {name: nvidia-fabricmanager}", True),
        ("nvidia-fabricmanager", "service: {name: nvidia-fabricmanager}", True),
        ("libnvidia-nscq-580, hwloc", "command: {run: /opt/check}", True),
        ("nvidia-driver-580-open=580.126.09-*, nvidia-fabricmanager-580", "gpu: {count: 8}", True),
        ("nvidia-fabricmanager-580=580.126.09-*", "service: {name: nvidia-fabricmanager}", False),
        ("nvidia-driver-580-open, nvidia-fabricmanager-580", "gpu: {count: 8}", True),
        ("nvidia-driver-580-open, nvidia-fabricmanager-580", "gpu: {driver: '>=580.126'}", False),
        ("nvidia-fabricmanager-580", "driver_coherent: {cuda: 13.0}", False),
        ("nvidia-fabricmanager-580", 'apt_package: {name: nvidia-fabricmanager-580, version: "580.126.09-*"}', False),
        ("nvidia-utils-580, nvtop", "command: {run: /opt/check}", False),
    ],
)
def test_what_has_to_be_of_the_drivers_release_says_which(codes, packages, post, expected):
    listed = ", ".join(f"'{it.strip()}'" for it in packages.split(","))
    steps = f"  - id: one\n    apt_packages: {{install: [{listed}]}}\n    postconditions:\n      - {post}\n"
    assert ("SP152" in codes(steps)) is expected
