"""What is said of packages that were installed as asked and do not load, run or fit: from what conditions observed."""

from dataclasses import replace

import pytest

from stackplan.actions.python_packages import KIND
from stackplan.model.change import Change
from stackplan.model.facts import Known, Query
from stackplan.model.outcome import Reason
from stackplan.model.verdict import not_held
from tests.engine.world import combined, condition, playbook, step

INDEX = "https://download.pytorch.org/whl/cu130"
TORCH = ("torch", "2.11.0+cu130")
KERNEL = ("sgl-kernel", "0.3.21")
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
    (NVRTC, "SP251", "sgl-kernel needs libnvrtc.so.12, a library of CUDA 12", "sgl-kernel==VERSION+cu130 at 38:7"),
    (COHERENT, "SP251", "sgl-kernel 0.3.21 needs libcublas.so.12", "sgl-kernel==VERSION+cu130"),
    (IN_PART, "SP251", "sgl-kernel 0.3.21 needs libnvrtc.so.12, a library of CUDA 12, and nothing", "VERSION+cu130"),
    (SYMBOL, "SP252", "flash_attn_2_cuda.so misses _ZN3c104cuda9SetDeviceEi", "from a wheel for the torch"),
    (NO_IMAGE, "SP253", "no code for a GPU of compute capability 12.0", "sm_120 at 38:7"),
    ("torch sees no GPU: RuntimeError: Error 802: system not yet initialized", "SP254", "not up", "fabricmanager"),
    (OLD_DRIVER, "SP255", "does not run what was installed", 'driver_coherent: {cuda: "13.0"}'),
    ("Error 804: forward compatibility was attempted on non supported HW", "SP255", "does not run", "precondition"),
]


@pytest.fixture
def diagnose(arguments, evidence):
    """Return what the kind says where a condition observed this after the kernel was installed."""

    def build(
        observed,
        *,
        text="import sgl_kernel",
        expected="it imports",
        reason=Reason.POSTCONDITION,
        playbook=None,
        answers=None,
        **values,
    ):
        given = {"packages": ["sgl-kernel"], "index_url": INDEX, **values}
        read = arguments(venv="~/ml-env", **given)
        told = evidence(
            read,
            [TORCH],
            [TORCH, KERNEL],
            reason=reason,
            changes=(Change("package", "sgl-kernel", None, "0.3.21"),),
            unmet=(not_held(text, expected=expected, observed=observed),),
            playbook=playbook,
        )
        more = {query: Known(value) for query, value in (answers or {}).items()}
        after = replace(told.after, answers={**told.after.answers, **more})
        return KIND.read(read).diagnose(replace(told, after=after))

    return build


@pytest.mark.parametrize(("observed", "code", "summary", "remedy"), SEEN)
def test_what_is_said_of_it(diagnose, observed, code, summary, remedy):
    (diagnosis,) = diagnose(observed)
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
def test_what_only_looks_like_it(diagnose, observed):
    assert not {it.code for it in diagnose(observed)} & {code for _, code, _, _ in SEEN}


def test_libraries_of_another_cuda_that_an_upgrade_left_behind(diagnose):
    (diagnosis,) = diagnose(LEFT_OVER, text="CUDA 13.0 throughout ~/ml-env", expected="CUDA 13.0")
    assert diagnosis.code == "SP251"
    assert diagnosis.summary == (
        "sgl-kernel 0.3.21 needs libcublas.so.12, libcudart.so.12 of CUDA 12, which an import loads from "
        "nvidia/cublas/lib, nvidia/cuda_runtime/lib beside the libraries of the CUDA that is wanted."
    )
    assert "sgl-kernel==VERSION+cu130 at 38:7" in diagnosis.remedy


def test_libraries_of_the_cuda_that_is_wanted_are_where_they_belong(diagnose):
    found = diagnose(LEFT_OVER, text="CUDA 12.8 throughout ~/ml-env", expected="CUDA 12.8")
    assert "SP251" not in {it.code for it in found}


def test_nothing_is_said_of_what_was_observed_when_the_action_itself_failed(diagnose):
    assert not {it.code for it in diagnose(NVRTC, reason=Reason.ACTION)} & {"SP251"}


def test_the_right_cuda_without_its_libraries_is_not_told_to_change_its_build(diagnose):
    (diagnosis,) = diagnose(NVRTC.replace("12", "13"), no_deps=True)
    assert (diagnosis.code, diagnosis.remedy) == ("SP251", "Remove `no_deps` at 40:7.")


def test_stale_kernels(diagnose):
    stale = diagnose("312 entries (1.1 GiB): older than torch 2.11.0+cu130", text="no stale kernels of triton")
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


def stated(*preconditions, earlier=(), own=(), later=()):
    """Return a playbook whose step `torch` is the one that failed."""
    steps = (step("before", post=earlier), step("torch", pre=own), *later)
    return playbook(*steps, preconditions=preconditions)


@pytest.mark.parametrize(
    ("values", "remedy"),
    [
        (
            {"packages": ["sgl-kernel==0.3.21+cu130"]},
            "`sgl-kernel==0.3.21+cu130` at 38:7 leaves the installer no other",
        ),
        ({"packages": ["sgl_kernel==0.3.21+CU130.torch2.9"]}, "`sgl_kernel==0.3.21+CU130.torch2.9` at 38:7 leaves the"),
        (
            {"packages": ["sgl-kernel @ https://e.example/k.whl"]},
            "`sgl-kernel @ https://e.example/k.whl` at 38:7 leaves",
        ),
        (
            {"packages": ["sgl-kernel"], "constraints": ["torch==2.11.0+cu130", "sgl-kernel==0.3.21+cu130"]},
            "`sgl-kernel==0.3.21+cu130` at 40:7 leaves the installer no other",
        ),
        ({"packages": ["sgl-kernel==0.3.21+cu128"]}, "Pin the build for this environment's CUDA sgl-kernel==VERSION+"),
        ({"packages": ["sgl-kernel==0.3.21+cu1300"]}, "Pin the build for this environment's CUDA sgl-kernel==VERSION+"),
        (
            {"packages": ["sgl-kernel==0.3.21"]},
            "Pin the build for this environment's CUDA sgl-kernel==VERSION+cu130 at",
        ),
        (
            {"packages": ["sgl-kernel"], "constraints": ["sgl-kernel==0.3.21"]},
            "Pin the build for this environment's CUDA sgl-kernel==VERSION+cu130 at 38:7",
        ),
    ],
)
def test_a_build_that_is_pinned_is_not_to_be_pinned(diagnose, values, remedy):
    for observed in (NVRTC, COHERENT):
        (diagnosis,) = diagnose(observed, **values)
        assert diagnosis.remedy.startswith(remedy)
        assert diagnosis.remedy_at is not None


def test_of_several_pinned_builds_none_is_to_be_pinned(diagnose):
    both = ["sgl-kernel==0.3.21+cu130", "flash-attn==2.8.3+cu130"]
    (diagnosis,) = diagnose(NVRTC, packages=both)
    assert (diagnosis.code, diagnosis.remedy, diagnosis.remedy_at) == ("SP251", None, None)
    (diagnosis,) = diagnose(NVRTC, packages=[both[0], "flash-attn==2.8.3"])
    assert diagnosis.remedy.startswith("Pin the build for this environment's CUDA at 38:7")


def test_requirements_are_pinned_where_they_stand(diagnose):
    lines = ["sgl-kernel==0.3.21", "./local.whl"]
    (diagnosis,) = diagnose(COHERENT, packages=None, requirements=lines)
    assert "sgl-kernel==VERSION+cu130 at 40:7" in diagnosis.remedy
    (diagnosis,) = diagnose(COHERENT, packages=["torch"], requirements=lines)
    assert "sgl-kernel==VERSION+cu130 at 40:7" in diagnosis.remedy
    (diagnosis,) = diagnose(COHERENT, packages=None, requirements=["sgl-kernel==0.3.21+cu130"])
    assert diagnosis.remedy.startswith("`sgl-kernel==0.3.21+cu130` at 40:7 leaves the installer no other build")


def test_a_library_wheel_that_is_named_is_not_to_be_named(diagnose):
    observed = NVRTC.replace("12", "13")
    (diagnosis,) = diagnose(observed)
    assert diagnosis.remedy == "Install the NVIDIA libraries of CUDA 13 with it."
    (diagnosis,) = diagnose(observed, packages=["sgl-kernel", "nvidia-cuda-nvrtc-cu12"])
    assert diagnosis.remedy == "Install the NVIDIA libraries of CUDA 13 with it."
    for name in ("nvidia-cuda-nvrtc>=13", "nvidia-cuda-nvrtc-cu13"):
        (diagnosis,) = diagnose(observed, packages=["sgl-kernel", name])
        assert (diagnosis.code, diagnosis.remedy, diagnosis.remedy_at) == ("SP251", None, None)


SITE = "/home/ops/ml-env/lib/python3.11/site-packages"


def lying(library, place, *, others=()):
    """Return what `cuda_libraries` and `library` tell of a library that a kernel would have from `place`."""
    row = {"name": "sgl-kernel", "version": "0.3.21", "needs": [{"library": library, "found": [place]}]}
    about = {"venv": "~/ml-env"}
    return {
        Query("cuda_libraries", about): {"site_packages": [SITE], "distributions": [row]},
        Query("library", {**about, "name": library}): {"site_packages": [SITE], "others": list(others)},
    }


def test_a_library_that_lies_there_is_not_told_to_be_missing(diagnose):
    place = f"{SITE}/nvidia/cu13/lib/libnvrtc.so.13"
    (diagnosis,) = diagnose(NVRTC.replace("12", "13"), answers=lying("libnvrtc.so.13", place), no_deps=True)
    assert diagnosis.summary == (
        "sgl-kernel needs libnvrtc.so.13, a library of CUDA 13: it lies in nvidia/cu13/lib, and nothing that loads "
        "it looks there."
    )
    remedy = f"Import torch before it, or add {SITE}/nvidia/cu13/lib to `LD_LIBRARY_PATH` where it is loaded."
    assert (diagnosis.remedy, diagnosis.remedy_at) == (remedy, None)


def test_a_library_that_lies_there_beside_a_torch_for_another_cuda(diagnose):
    place = f"{SITE}/nvidia/cu13/lib/libnvrtc.so.13"
    torch = {Query("torch", {"venv": "~/ml-env"}): {"installed": True, "cuda": "12.8"}}
    answers = lying("libnvrtc.so.13", place) | torch
    (diagnosis,) = diagnose(NVRTC.replace("12", "13"), answers=answers, no_deps=True)
    assert diagnosis.remedy.startswith(f"Install torch for CUDA 13 before it: torch {TORCH[1]} is built for CUDA 12.8")


def test_a_copy_that_a_program_did_not_load_lies_there_too(diagnose):
    place = f"{SITE}/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"
    answers = lying("libcudart.so.12", f"{SITE}/x/libcudart.so.12")
    answers |= {
        Query("library", {"venv": "~/ml-env", "name": "libnvrtc.so.12"}): {"site_packages": [SITE], "others": [place]}
    }
    (diagnosis,) = diagnose(NVRTC, answers=answers)
    assert "a library of CUDA 12: it lies in nvidia/cuda_nvrtc/lib, and nothing that loads" in diagnosis.summary
    assert "sgl-kernel==VERSION+cu130 at 38:7" in diagnosis.remedy


def test_a_library_whose_place_was_not_seen_lies_in_its_wheel(diagnose):
    wheel = {"name": "nvidia-cuda-nvrtc", "version": "13.0.88", "provides": [{"library": "libnvrtc.so.13"}]}
    told = {"site_packages": [SITE], "distributions": [wheel, {"name": "x", "version": "1", "provides": []}]}
    answers = {Query("cuda_libraries", {"venv": "~/ml-env"}): told}
    (diagnosis,) = diagnose(NVRTC.replace("12", "13"), answers=answers, no_deps=True)
    assert diagnosis.summary.endswith(": it lies in nvidia-cuda-nvrtc 13.0.88, and nothing that loads it looks there.")
    assert diagnosis.remedy.startswith("Import torch before it, or add its folder to `LD_LIBRARY_PATH`")
    elsewhere = {Query("cuda_libraries", {"venv": "~/other"}): told}
    (diagnosis,) = diagnose(NVRTC.replace("12", "13"), answers=elsewhere, no_deps=True)
    assert diagnosis.summary.endswith("a library of CUDA 13, and nothing brings it.")


@pytest.mark.parametrize(
    "place", ["/usr/local/cuda/lib64/libnvrtc.so.12", "/home/ops/other/site-packages/nvidia/lib/libnvrtc.so.12"]
)
def test_a_library_outside_of_the_environment_does_not_lie_there(diagnose, place):
    (diagnosis,) = diagnose(NVRTC, answers=lying("libnvrtc.so.12", place, others=[place]))
    assert diagnosis.summary == "sgl-kernel needs libnvrtc.so.12, a library of CUDA 12, and nothing brings it."


def test_an_architecture_that_is_stated_is_not_to_be_stated(diagnose):
    arch = condition("torch", venv="~/ml-env", arch="sm_120")
    version = condition("torch", venv="~/ml-env", version="==2.11.0")
    (diagnosis,) = diagnose(NO_IMAGE, playbook=stated(earlier=[arch]))
    assert diagnosis.remedy == "Choose a build with code for sm_120 at 38:7."
    for book in (stated(earlier=[version]), stated(combined("not", arch)), None):
        (diagnosis,) = diagnose(NO_IMAGE, playbook=book)
        assert "`torch: {arch: …}` states it beforehand" in diagnosis.remedy


COHERENCE = condition("driver_coherent")
MANAGER = condition("service", name="nvidia-fabricmanager", active=True)
OTHER = condition("service", name="nvidia-persistenced", active=True)
BY_HAND = "Look at `systemctl status nvidia-fabricmanager` on the node: the playbook states already that it runs."


@pytest.mark.parametrize(
    ("book", "remedy"),
    [
        (
            stated(OTHER),
            "State `driver_coherent: {}` and `service: {name: nvidia-fabricmanager, active: true}` as preconditions.",
        ),
        (stated(MANAGER), "State `driver_coherent: {}` as a precondition."),
        (
            stated(own=[COHERENCE]),
            "State `service: {name: nvidia-fabricmanager, active: true}` as a precondition.",
        ),
        (stated(COHERENCE, earlier=[MANAGER]), BY_HAND),
        (stated(combined("all", COHERENCE, MANAGER)), BY_HAND),
        (
            stated(COHERENCE, later=[step("after", post=[MANAGER])]),
            "State `service: {name: nvidia-fabricmanager, active",
        ),
    ],
)
def test_preconditions_that_are_stated_are_not_to_be_stated(diagnose, book, remedy):
    (diagnosis,) = diagnose("RuntimeError: Error 802: system not yet initialized", playbook=book)
    assert (diagnosis.code, diagnosis.remedy[: len(remedy)]) == ("SP254", remedy)


@pytest.mark.parametrize(
    ("book", "remedy"),
    [
        (
            stated(),
            'State `driver_coherent: {cuda: "13.0"}` as a precondition, which stops before anything is changed; ',
        ),
        (stated(COHERENCE), 'Add `cuda: "13.0"` to `driver_coherent` at 1:9, which stops before anything is changed; '),
        (stated(condition("driver_coherent", cuda="13.0")), "Upgrade the driver, or pin a build of an older CUDA."),
    ],
)
def test_a_driver_that_is_stated_is_not_to_be_stated(diagnose, book, remedy):
    (diagnosis,) = diagnose(OLD_DRIVER, playbook=book)
    assert (diagnosis.code, diagnosis.remedy[: len(remedy)]) == ("SP255", remedy)
    assert diagnosis.remedy.lower().endswith("upgrade the driver, or pin a build of an older cuda.")


def test_a_step_that_clears_caches_is_not_to_be_added(diagnose):
    def remedy(*later):
        observed = "312 entries (1.1 GiB): older than torch 2.11.0+cu130"
        (diagnosis,) = diagnose(observed, text="no stale kernels of triton", playbook=stated(later=later))
        return diagnosis.remedy

    clearing = step("caches", action="clear_caches", venv="~/ml-env")
    told = "State `no_stale_caches` in step `caches` and not before it: that is the step that clears them."
    assert remedy(step("other"), clearing) == told
    assert remedy(step("other")).startswith("Add a step with `clear_caches: {venv: ~/ml-env}` behind this one")
    elsewhere = step("caches", action="clear_caches", venv="~/other")
    assert remedy(elsewhere).startswith("Add a step with `clear_caches: {venv: ~/ml-env}` behind this one")
