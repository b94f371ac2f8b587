"""Edits that a playbook has already are not proposed for what does not load; what lies there is not called missing."""

import pytest

from stackplan.model.facts import Query
from tests.engine.world import combined, condition, playbook, step

TORCH = "torch 2.11.0+cu130"
NVRTC = "ImportError: libnvrtc.so.12: cannot open shared object file: No such file or directory"
COHERENT = (
    "sgl-kernel 0.3.21 needs libcublas.so.12, libcudart.so.12 (found nowhere) in sgl_kernel/sm90/common_ops.abi3.so; "
    "torchcodec 0.17.0+cu128 is labelled for another CUDA"
)
NO_IMAGE = (
    "compute capability 12.0: AcceleratorError: CUDA error: no kernel image is available for execution on the device"
)
OLD_DRIVER = "torch sees no GPU: RuntimeError: The NVIDIA driver on your system is too old (found version 12080)."


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
def test_a_build_that_is_pinned_is_not_to_be_pinned(said_of_kernel, values, remedy):
    for observed in (NVRTC, COHERENT):
        (diagnosis,) = said_of_kernel(observed, **values)
        assert diagnosis.remedy.startswith(remedy)
        assert diagnosis.remedy_at is not None


def test_of_several_pinned_builds_none_is_to_be_pinned(said_of_kernel):
    both = ["sgl-kernel==0.3.21+cu130", "flash-attn==2.8.3+cu130"]
    (diagnosis,) = said_of_kernel(NVRTC, packages=both)
    assert (diagnosis.code, diagnosis.remedy, diagnosis.remedy_at) == ("SP251", None, None)
    (diagnosis,) = said_of_kernel(NVRTC, packages=[both[0], "flash-attn==2.8.3"])
    assert diagnosis.remedy.startswith("Pin the build for this environment's CUDA at 38:7")


def test_requirements_are_pinned_where_they_stand(said_of_kernel):
    lines = ["sgl-kernel==0.3.21", "./local.whl"]
    (diagnosis,) = said_of_kernel(COHERENT, packages=None, requirements=lines)
    assert "sgl-kernel==VERSION+cu130 at 40:7" in diagnosis.remedy
    (diagnosis,) = said_of_kernel(COHERENT, packages=["torch"], requirements=lines)
    assert "sgl-kernel==VERSION+cu130 at 40:7" in diagnosis.remedy
    (diagnosis,) = said_of_kernel(COHERENT, packages=None, requirements=["sgl-kernel==0.3.21+cu130"])
    assert diagnosis.remedy.startswith("`sgl-kernel==0.3.21+cu130` at 40:7 leaves the installer no other build")


def test_a_library_wheel_that_is_named_is_not_to_be_named(said_of_kernel):
    observed = NVRTC.replace("12", "13")
    (diagnosis,) = said_of_kernel(observed)
    assert diagnosis.remedy == "Install the NVIDIA libraries of CUDA 13 with it."
    (diagnosis,) = said_of_kernel(observed, packages=["sgl-kernel", "nvidia-cuda-nvrtc-cu12"])
    assert diagnosis.remedy == "Install the NVIDIA libraries of CUDA 13 with it."
    for name in ("nvidia-cuda-nvrtc>=13", "nvidia-cuda-nvrtc-cu13"):
        (diagnosis,) = said_of_kernel(observed, packages=["sgl-kernel", name])
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


def test_a_library_that_lies_there_is_not_told_to_be_missing(said_of_kernel):
    place = f"{SITE}/nvidia/cu13/lib/libnvrtc.so.13"
    (diagnosis,) = said_of_kernel(NVRTC.replace("12", "13"), answers=lying("libnvrtc.so.13", place), no_deps=True)
    assert diagnosis.summary == (
        "sgl-kernel needs libnvrtc.so.13 of CUDA 13. The file lies in nvidia/cu13/lib, where the loader does not look "
        "for it."
    )
    remedy = f"Import torch before it, or add {SITE}/nvidia/cu13/lib to `LD_LIBRARY_PATH` where it is loaded."
    assert (diagnosis.remedy, diagnosis.remedy_at) == (remedy, None)


def test_a_library_that_lies_there_beside_a_torch_for_another_cuda(said_of_kernel):
    place = f"{SITE}/nvidia/cu13/lib/libnvrtc.so.13"
    torch = {Query("torch", {"venv": "~/ml-env"}): {"installed": True, "cuda": "12.8"}}
    answers = lying("libnvrtc.so.13", place) | torch
    (diagnosis,) = said_of_kernel(NVRTC.replace("12", "13"), answers=answers, no_deps=True)
    assert diagnosis.remedy.startswith(f"Install torch for CUDA 13 before it: {TORCH} is built for CUDA 12.8")


def test_a_copy_that_a_program_did_not_load_lies_there_too(said_of_kernel):
    place = f"{SITE}/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"
    answers = lying("libcudart.so.12", f"{SITE}/x/libcudart.so.12")
    answers |= {
        Query("library", {"venv": "~/ml-env", "name": "libnvrtc.so.12"}): {"site_packages": [SITE], "others": [place]}
    }
    (diagnosis,) = said_of_kernel(NVRTC, answers=answers)
    assert "of CUDA 12. The file lies in nvidia/cuda_nvrtc/lib, where the loader does not look" in diagnosis.summary
    assert "sgl-kernel==VERSION+cu130 at 38:7" in diagnosis.remedy


def test_a_library_whose_place_was_not_seen_lies_in_its_wheel(said_of_kernel):
    wheel = {"name": "nvidia-cuda-nvrtc", "version": "13.0.88", "provides": [{"library": "libnvrtc.so.13"}]}
    told = {"site_packages": [SITE], "distributions": [wheel, {"name": "x", "version": "1", "provides": []}]}
    answers = {Query("cuda_libraries", {"venv": "~/ml-env"}): told}
    (diagnosis,) = said_of_kernel(NVRTC.replace("12", "13"), answers=answers, no_deps=True)
    assert diagnosis.summary.endswith(
        ". The file lies in nvidia-cuda-nvrtc 13.0.88, where the loader does not look for it."
    )
    assert diagnosis.remedy.startswith("Import torch before it, or add its folder to `LD_LIBRARY_PATH`")
    elsewhere = {Query("cuda_libraries", {"venv": "~/other"}): told}
    (diagnosis,) = said_of_kernel(NVRTC.replace("12", "13"), answers=elsewhere, no_deps=True)
    assert diagnosis.summary.endswith("of CUDA 13, and nothing in the environment brings that file.")


@pytest.mark.parametrize(
    "place", ["/usr/local/cuda/lib64/libnvrtc.so.12", "/home/ops/other/site-packages/nvidia/lib/libnvrtc.so.12"]
)
def test_a_library_outside_of_the_environment_does_not_lie_there(said_of_kernel, place):
    (diagnosis,) = said_of_kernel(NVRTC, answers=lying("libnvrtc.so.12", place, others=[place]))
    assert diagnosis.summary == (
        "sgl-kernel needs libnvrtc.so.12 of CUDA 12, and nothing in the environment brings that file."
    )


def test_without_a_name_the_sentence_says_that_the_error_names_none(said_of_kernel):
    observed = NVRTC[NVRTC.index("libnvrtc") :]
    (diagnosis,) = said_of_kernel(observed, packages=["a==1+cu130", "b==1"])
    assert diagnosis.summary == (
        "Something that is loaded here (the error does not name the package) needs libnvrtc.so.12 of CUDA 12, and "
        "nothing in the environment brings that file."
    )


def test_an_architecture_that_is_stated_is_not_to_be_stated(said_of_kernel):
    arch = condition("torch", venv="~/ml-env", arch="sm_120")
    version = condition("torch", venv="~/ml-env", version="==2.11.0")
    (diagnosis,) = said_of_kernel(NO_IMAGE, playbook=stated(earlier=[arch]))
    assert diagnosis.remedy == "Choose a build with code for sm_120 at 38:7."
    for book in (stated(earlier=[version]), stated(combined("not", arch)), None):
        (diagnosis,) = said_of_kernel(NO_IMAGE, playbook=book)
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
def test_preconditions_that_are_stated_are_not_to_be_stated(said_of_kernel, book, remedy):
    (diagnosis,) = said_of_kernel("RuntimeError: Error 802: system not yet initialized", playbook=book)
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
def test_a_driver_that_is_stated_is_not_to_be_stated(said_of_kernel, book, remedy):
    (diagnosis,) = said_of_kernel(OLD_DRIVER, playbook=book)
    assert (diagnosis.code, diagnosis.remedy[: len(remedy)]) == ("SP255", remedy)
    assert diagnosis.remedy.lower().endswith("upgrade the driver, or pin a build of an older cuda.")


def test_a_step_that_clears_caches_is_not_to_be_added(said_of_kernel):
    def remedy(*later):
        observed = "312 entries (1.1 GiB): older than torch 2.11.0+cu130"
        (diagnosis,) = said_of_kernel(observed, text="no stale kernels of triton", playbook=stated(later=later))
        return diagnosis.remedy

    clearing = step("caches", action="clear_caches", venv="~/ml-env")
    told = "State `no_stale_caches` in step `caches` and not before it: that is the step that clears them."
    assert remedy(step("other"), clearing) == told
    assert remedy(step("other")).startswith("Add a step with `clear_caches: {venv: ~/ml-env}` behind this one")
    elsewhere = step("caches", action="clear_caches", venv="~/other")
    assert remedy(elsewhere).startswith("Add a step with `clear_caches: {venv: ~/ml-env}` behind this one")
