"""What is said of packages that were installed as asked and do not load, run or fit: from what conditions observed."""

import pytest

from stackplan.actions.python_packages import KIND
from stackplan.model.change import Change
from stackplan.model.outcome import Reason
from stackplan.model.verdict import not_held

INDEX = "https://download.pytorch.org/whl/cu130"
TORCH = ("torch", "2.11.0+cu130")
NVRTC = "ImportError: libnvrtc.so.12: cannot open shared object file: No such file or directory"
COHERENT = (
    "sgl-kernel 0.3.21 needs libcublas.so.12, libcudart.so.12 (found nowhere) in sgl_kernel/sm90/common_ops.abi3.so; "
    "torchcodec 0.17.0+cu128 is labelled for another CUDA"
)
IN_PART = "sgl-kernel 0.3.21 needs libcublas.so.12, libnvrtc.so.12 (libnvrtc.so.12 nowhere to be found) in ops.abi3.so"
LEFT_OVER = (
    "sgl-kernel 0.3.21 needs libcublas.so.12, libcudart.so.12 (found in nvidia/cublas/lib, nvidia/cuda_runtime/lib) in "
    "sgl_kernel/sm90/common_ops.abi3.so"
)
SYMBOL = "ImportError: flash_attn_2_cuda.so: undefined symbol: _ZN3c104cuda9SetDeviceEi"
NO_IMAGE = (
    "compute capability 12.0: AcceleratorError: CUDA error: no kernel image is available for execution on the device"
)
OLD_DRIVER = "torch sees no GPU: RuntimeError: The NVIDIA driver on your system is too old (found version 12080)."
SEEN = [
    (NVRTC, "SP251", "sgl-kernel needs libnvrtc.so.12 of CUDA 12", "sgl-kernel==VERSION+cu130 at 38:7"),
    (COHERENT, "SP251", "sgl-kernel 0.3.21 needs libcublas.so.12", "sgl-kernel==VERSION+cu130"),
    (IN_PART, "SP251", "sgl-kernel 0.3.21 needs libnvrtc.so.12 of CUDA 12, and nothing", "VERSION+cu130"),
    (SYMBOL, "SP252", "flash_attn_2_cuda.so misses _ZN3c104cuda9SetDeviceEi", "from a wheel for the torch"),
    (NO_IMAGE, "SP253", "no code for a GPU of compute capability 12.0", "sm_120 at 38:7"),
    ("torch sees no GPU: RuntimeError: Error 802: system not yet initialized", "SP254", "not up", "fabricmanager"),
    (OLD_DRIVER, "SP255", "does not run what was installed", 'driver_coherent: {cuda: "13.0"}'),
    ("Error 804: forward compatibility was attempted on non supported HW", "SP255", "does not run", "precondition"),
]


@pytest.mark.parametrize(("observed", "code", "summary", "remedy"), SEEN)
def test_what_is_said_of_it(said_of_kernel, observed, code, summary, remedy):
    (diagnosis,) = said_of_kernel(observed)
    assert diagnosis.code == code
    assert summary in diagnosis.summary
    assert remedy in diagnosis.remedy


@pytest.mark.parametrize(
    "observed",
    [
        "ImportError: libnvrtc.so.12: wrong ELF class",
        "ImportError: libfoo.so.12: cannot open shared object file: No such file or directory",
        "sgl-kernel 0.3.21 needs libfoo.so.12 (found in /usr/local/cuda/lib64) in sgl_kernel/sm90/common_ops.abi3.so",
        "ImportError: x.so: undefined symbol: my_function",
        "compute capability 9.0: a sum came out wrong: 16777000.0, not 16777216",
        "RuntimeError: Error 80: something else",
        "ImportError: Could not load any common_ops library!",
    ],
)
def test_what_only_looks_like_it(said_of_kernel, observed):
    assert not {it.code for it in said_of_kernel(observed)} & {code for _, code, _, _ in SEEN}


def test_libraries_of_another_cuda_that_an_upgrade_left_behind(said_of_kernel):
    (diagnosis,) = said_of_kernel(LEFT_OVER, text="CUDA 13.0 throughout ~/ml-env", expected="CUDA 13.0")
    assert diagnosis.code == "SP251"
    assert diagnosis.summary == (
        "sgl-kernel 0.3.21 needs libcublas.so.12, libcudart.so.12 of CUDA 12, which an import loads from "
        "nvidia/cublas/lib, nvidia/cuda_runtime/lib beside the libraries of the CUDA that is wanted."
    )
    assert "sgl-kernel==VERSION+cu130 at 38:7" in diagnosis.remedy


def test_libraries_of_the_cuda_that_is_wanted_are_where_they_belong(said_of_kernel):
    found = said_of_kernel(LEFT_OVER, text="CUDA 12.8 throughout ~/ml-env", expected="CUDA 12.8")
    assert "SP251" not in {it.code for it in found}


def test_nothing_is_said_of_what_was_observed_when_the_action_itself_failed(said_of_kernel):
    assert not {it.code for it in said_of_kernel(NVRTC, reason=Reason.ACTION)} & {"SP251"}


def test_the_right_cuda_without_its_libraries_is_not_told_to_change_its_build(said_of_kernel):
    (diagnosis,) = said_of_kernel(NVRTC.replace("12", "13"), no_deps=True)
    assert (diagnosis.code, diagnosis.remedy) == ("SP251", "Remove `no_deps` at 40:7.")


def test_stale_kernels(said_of_kernel):
    stale = said_of_kernel("312 entries (1.1 GiB): older than torch 2.11.0+cu130", text="no stale kernels of triton")
    assert [(it.code, "clear_caches: {venv: ~/ml-env}" in it.remedy) for it in stale] == [("SP257", True)]


def companions(arguments, evidence, packages, observed, *changes):
    read = arguments(venv="~/ml-env", packages=packages)
    unmet = (
        not_held(
            "torch, torchvision of one local label", expected="one local label for all of them", observed=observed
        ),
    )
    told = evidence(read, [TORCH], reason=Reason.POSTCONDITION, changes=changes, unmet=unmet)
    return [(it.code, it.summary, it.remedy) for it in KIND.read(read).diagnose(told) if it.code == "SP256"]


def test_a_companion_that_stayed(arguments, evidence):
    moved = Change("package", "torch", "2.10.0+cu128", "2.10.0+cu130")
    observed = "torch 2.10.0+cu130, torchvision 0.25.0+cu128, torchaudio 2.10.0+cu128"
    assert companions(arguments, evidence, ["torch"], observed, moved) == [
        (
            "SP256",
            "torchvision 0.25.0+cu128, torchaudio 2.10.0+cu128 stayed as they were: the step does not name them.",
            "Add torchvision, torchaudio to `packages` at 38:7.",
        )
    ]
    assert companions(arguments, evidence, ["torch", "torchvision", "torchaudio"], observed, moved) == []
    assert companions(arguments, evidence, ["sglang"], observed) == []


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ("torch", True),
        ("torch>=2.10", True),
        ("torch==2.11.*", True),
        ("torch==2.11.0", True),
        (f"torch=={TORCH[1]}", False),
    ],
)
def test_an_exact_pin_left_the_installer_no_choice(arguments, evidence, wanted, told):
    read = arguments(venv="~/ml-env", packages=[wanted], index_url=INDEX)
    seen = evidence(
        read,
        [("torch", "2.10.0+cu128")],
        [TORCH],
        reason=Reason.POSTCONDITION,
        changes=(Change("package", "torch", "2.10.0+cu128", TORCH[1]),),
        unmet=(not_held("torch 2.9", expected="==2.9", observed=f"torch {TORCH[1]}"),),
    )
    assert [it.code for it in KIND.read(read).diagnose(seen)] == (["SP211"] if told else [])


CU12 = [("nvidia-cudnn-cu12", "9.10.2"), ("nvidia-nccl-cu12", "2.27.5")]
CU13 = [("nvidia-cudnn-cu13", "9.20.0"), ("nvidia-nccl-cu13", "2.29.1")]
SHARED = {
    "two-owners": {
        "count": 12,
        "first": [
            {
                "distribution": "nvidia-cudnn-cu13",
                "path": "nvidia/cudnn/lib/libcudnn.so.9",
                "detail": "also written by nvidia-cudnn-cu12",
            }
        ],
    }
}


@pytest.fixture
def beside(arguments, evidence):
    """Return what SP256 says after torch for CUDA 13 came into an environment with libraries for CUDA 12."""

    def build(findings, *more, reason=Reason.POSTCONDITION):
        read = arguments(venv="~/ml-env", packages=["torch==2.14.1"])
        torch = ("torch", "2.14.1", *(f"{name}=={version} ; sys_platform == 'linux'" for name, version in CU13))
        told = evidence(
            read,
            [("torch", "2.9.1"), *CU12],
            [torch, *CU12, *CU13, *more],
            reason=reason,
            findings=findings,
            changes=(Change("package", "torch", "2.9.1", "2.14.1"),),
            unmet=(not_held("~/ml-env intact", expected="one owner", observed="12 files written by two"),),
        )
        return [it for it in KIND.read(read).diagnose(told) if it.code == "SP256"]

    return build


def test_libraries_for_another_cuda_that_stayed_are_to_be_removed_before(beside):
    (diagnosis,) = beside(SHARED)
    assert diagnosis.summary.startswith(
        "nvidia-cudnn-cu12, nvidia-nccl-cu12 stayed beside nvidia-cudnn-cu13, nvidia-nccl-cu13: "
    )
    assert "`python_packages: {venv: ~/ml-env, remove: [nvidia-cudnn-cu12, nvidia-nccl-cu12]}`" in diagnosis.remedy
    assert "`reinstall: [nvidia-cudnn-cu13, nvidia-nccl-cu13]` at 37:7" in diagnosis.remedy


def test_a_library_that_something_requires_is_not_to_be_removed(beside):
    (diagnosis,) = beside(SHARED, ("old-kernels", "1.0", "nvidia-nccl-cu12>=2"))
    assert "remove: [nvidia-cudnn-cu12]" in diagnosis.remedy
    assert beside(SHARED, ("old-kernels", "1.0", "nvidia-nccl-cu12", "nvidia-cudnn-cu12")) == []


def test_a_package_beside_its_successor_is_named_and_not_torch(arguments, evidence):
    """What stopped the step had nothing to do with it: the kernel package under its old name lies there still."""
    read = arguments(venv="~/ml-env", packages=["torch"], index_url=INDEX, upgrade=True)
    owners = {"first": [{"distribution": "sglang-kernel", "path": "k.py", "detail": "also written by sgl-kernel"}]}
    there = [TORCH, ("sgl-kernel", "0.3.21"), ("sglang-kernel", "0.4.1"), ("sglang", "0.5.23", "sglang-kernel")]
    told = evidence(
        read,
        there,
        there,
        reason=Reason.NO_OP,
        findings={"two-owners": owners},
        unmet=(not_held("~/ml-env intact", expected="one owner", observed="k.py (sglang-kernel, sgl-kernel)"),),
    )
    (diagnosis,) = KIND.read(read).diagnose(told)
    assert diagnosis.code == "SP256"
    assert diagnosis.summary.startswith("sgl-kernel and sglang-kernel own the same files: ")
    assert diagnosis.summary.endswith("This step changed neither of them.")
    assert "remove: [sgl-kernel]}` before this one and `reinstall: [sglang-kernel]`" in diagnosis.remedy


def test_libraries_side_by_side_that_share_no_file_are_no_fault(beside):
    assert beside({}) == []
    assert beside(SHARED, reason=Reason.ACTION) == []
