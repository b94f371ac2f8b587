"""What can be said of a script that failed, from what the tools of a GPU node print: drivers, runfiles, installers."""

import re

from stackplan.actions._memory_rules import out_of_memory
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.job import Exited
from stackplan.model.kind import Evidence


def explain_script_failure(evidence: Evidence, key: str) -> tuple[Diagnosis, ...]:
    """Return what its output tells; `key` is the argument that holds the script or the program."""
    killed = out_of_memory(evidence)
    if killed or not isinstance(evidence.ending, Exited) or evidence.ending.code == 0:
        return killed
    place = evidence.arguments.place(key)
    for code, pattern, summary, remedy in _RULES:
        if match := re.search(pattern, evidence.output, re.MULTILINE):
            words = {name: value or "" for name, value in match.groupdict().items()}
            return (
                Diagnosis(
                    code=code,
                    summary=summary.format(**words),
                    at=place,
                    step=evidence.step,
                    causes=(match[0].strip()[:300],),
                    remedy=remedy.format(**words),
                    remedy_at=place,
                ),
            )
    return ()


_RULES = (
    (
        "SP262",
        r"[^\n]*(?:Nouveau kernel driver is currently in use|nouveau\b[^\n]*appears to already be loaded)[^\n]*",
        "The kernel's own driver nouveau holds the GPUs, and NVIDIA's cannot be installed beside it.",
        (
            "Write `blacklist nouveau` and `options nouveau modeset=0` to a file in /etc/modprobe.d by an earlier "
            "step, run `update-initramfs -u`, and put a `reboot` step before this one."
        ),
    ),
    (
        "SP263",
        (
            r"[^\n]*(?:kernel module '[\w-]+' appears to (?:be )?already (?:be )?loaded|Module nvidia\w* is in use"
            r"|Could not unload NVIDIA driver kernel modules)[^\n]*"
        ),
        "The loaded NVIDIA driver is in use, so it cannot be replaced.",
        (
            "Drain the node and state `gpu: {{processes: none}}` as a precondition; stop what else holds /dev/nvidia* "
            "(exporters, nvidia-persistenced, a display) by its unit in an earlier step. For a toolkit alone use "
            "`cuda_toolkit`, which leaves the driver alone."
        ),
    ),
    (
        "SP264",
        (
            r"[^\n]*(?:Unable to find the kernel source tree"
            r"|Bad return status for module build on kernel: (?P<kernel>\S+)"
            r"|kernel headers? for (?:target )?kernel \S+ cannot be found)[^\n]*"
        ),
        "The driver's kernel module could not be built {kernel}.",
        (
            "Install the headers of the kernel that runs (linux-headers-$(uname -r)) and the compiler that it was "
            "built with in an earlier step; the log is in /var/lib/dkms or /var/log/nvidia-installer.log on the node."
        ),
    ),
    (
        "SP265",
        (
            r"[^\n]*(?:unsupported compiler version|Failed to verify gcc version|gcc versions? later than \d+ are not "
            r"supported)[^\n]*"
        ),
        "The CUDA installer or compiler does not support the node's gcc.",
        (
            "Install a gcc that this toolkit supports in an earlier step and name it (`env: {{CC: gcc-13, CXX: "
            "g++-13}}`), or use a newer toolkit. The installer's `--override` skips the check, and nvcc refuses then."
        ),
    ),
    (
        "SP266",
        (
            r"error: externally-managed-environment[^\n]*|[^\n]*The interpreter at \S+ is externally managed[^\n]*"
            r"|[^\n]*No virtual environment found[^\n]*"
        ),
        "The script's installer found no virtual environment, only the system's Python.",
        (
            "Use `python_packages` with the environment's path in `venv`, or name its interpreter in the script "
            "(`uv pip install --python VENV/bin/python …`). `--break-system-packages` mixes the files of two "
            "package managers."
        ),
    ),
    (
        "SP267",
        (
            r"[^\n]*(?:Failed to initialize NVML: Driver/library version mismatch"
            r"|couldn't communicate with the NVIDIA driver)[^\n]*"
        ),
        "The driver that the kernel has loaded and its libraries do not go together.",
        "State `driver_coherent: {{}}` as a precondition; a `reboot` step loads the driver that is installed.",
    ),
)
