"""Debian packages that are installed in a version, or in none, and what is stated of them."""

import pytest

PINNED = "apt_packages: {install: ['libnccl2=2.30.7-1+cuda13.3'], hold: [libnccl2]}"
DRIVER = "apt_packages: {install: [nvidia-driver-580-server-open], hold: [nvidia-driver-580-server-open]}"


@pytest.fixture
def codes_of(codes):
    def found(action, *stated):
        return codes(f"  - id: one\n    {action}\n    postconditions:\n" + "".join(f"      - {it}\n" for it in stated))

    return found


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        (["apt_package: {name: libnccl2}"], True),
        (["apt_package: {name: libnccl2, held: true}", "apt_package: {name: hwloc}"], True),
        (["apt_package: {name: libnccl2, version: '>=2.30'}"], False),
        (["apt_package: {name: libnccl2}", "command: {run: /opt/check}"], False),
        (["apt_package: {name: hwloc}"], False),
    ],
)
def test_a_version_of_apt_is_stated(codes_of, stated, expected):
    assert ("SP132" in codes_of(PINNED, *stated)) is expected
    assert "SP132" not in codes_of(PINNED.replace("=2.30.7-1+cuda13.3", ""), *stated)


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        (["apt_package: {name: nvidia-driver-580-server-open}"], True),
        (["service: {name: x, active: true}"], True),
        (["apt_package: {name: nvidia-driver-580-server-open, version: '>=580.126'}"], False),
        (["driver_coherent: {version: 580.126.09}"], False),
        (["gpu: {driver: '>=580.126'}"], False),
        (["command: {run: /opt/check}"], False),
    ],
)
def test_a_driver_comes_in_a_release_that_somebody_states(codes_of, stated, expected):
    assert ("SP152" in codes_of(DRIVER, *stated)) is expected
    assert "SP152" not in codes_of(DRIVER.replace("open]", "open=580.126.09-*]", 1), *stated)
