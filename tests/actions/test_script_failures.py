"""What is said of a script that failed, from true output of driver installers, runfiles, uv and pip."""

from dataclasses import replace

import pytest

from stackplan.actions.run import KIND
from stackplan.model.job import Signalled
from stackplan.model.outcome import Reason

SAID = [
    (
        (
            "ERROR: The Nouveau kernel driver is currently in use by your system.  This driver is incompatible with "
            "the NVIDIA driver, and must be disabled before proceeding.\n"
        ),
        "SP262",
        "blacklist nouveau",
    ),
    (
        (
            "ERROR: An NVIDIA kernel module 'nvidia-drm' appears to already be loaded in your kernel.  This may be "
            "because it is in use (for example, by an X server)\n"
        ),
        "SP263",
        "gpu: {processes: none}",
    ),
    ("rmmod: ERROR: Module nvidia is in use by: nvidia_uvm nvidia_modeset\n", "SP263", "exporters"),
    (
        (
            "Error! Bad return status for module build on kernel: 6.1.0-21-amd64 (x86_64)\ndpkg: error processing "
            "package nvidia-kernel-dkms (--configure):\n"
        ),
        "SP264",
        "linux-headers-$(uname -r)",
    ),
    (" Failed to verify gcc version. See log at /var/log/cuda-installer.log for details.\n", "SP265", "CXX: g++-13"),
    (
        "error: externally-managed-environment\n\n\u00d7 This environment is externally managed\n",
        "SP266",
        "python_packages",
    ),
    (
        "error: No virtual environment found; run `uv venv` to create an environment, or pass `--system` to install\n",
        "SP266",
        "VENV/bin/python",
    ),
    (
        "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.124\n",
        "SP267",
        "driver_coherent: {}",
    ),
    ("/dev/fd/63: line 2:  4242 Killed                  make -j64\n\nKilled\n", "SP261", "MAX_JOBS"),
]


@pytest.fixture
def diagnose(arguments, evidence):
    def build(output, code=1, **changed):
        read = arguments(script="sh /srv/x.run --silent")
        told = evidence(read, [], code=code, output=output, reason=Reason.ACTION)
        return KIND.read(read).diagnose(replace(told, **changed))

    return build


@pytest.mark.parametrize(("output", "code", "remedy"), SAID)
def test_what_is_said_of_it(diagnose, output, code, remedy):
    (diagnosis,) = diagnose(output)
    assert diagnosis.code == code
    assert remedy in diagnosis.remedy
    assert diagnosis.causes[0] in output
    assert str(diagnosis.remedy_at) == "playbooks/p.yaml:37:7"
    assert diagnose(output, 0) == ()


@pytest.mark.parametrize(
    "output",
    [
        "nouveau is blacklisted, good\n",
        "Module loaded: nvidia\n",
        "gcc version 13.2.0\n",
        "This environment is managed by us\n",
        "NVML library version: 570.124\n",
        "Killed 3 stale sessions\n",
        "",
    ],
)
def test_what_only_looks_like_it(diagnose, output):
    assert diagnose(output) == ()


def test_a_script_that_is_killed_as_a_whole(diagnose):
    (diagnosis,) = diagnose("", ending=Signalled(9))
    assert diagnosis.code == "SP261"
    assert diagnose("", ending=Signalled(15)) == ()


def test_a_program_that_is_missing_is_told_as_ever(diagnose):
    (diagnosis,) = diagnose("bash: line 2: nvcc: command not found\n", 127)
    assert diagnosis.code == "SP241"
