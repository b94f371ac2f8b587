"""A distribution under a name that its project has left."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Subject
from stackplan.language.lint._wanted import Wanted
from stackplan.model.pep440 import InvalidVersion, Version

# Each name was looked up on PyPI on 2026-12-01.
_RENAMED = {
    "flashinfer": ("flashinfer-python", "there is no `flashinfer` on PyPI"),
    "pynvml": ("nvidia-ml-py", "pynvml only brings nvidia-ml-py along and warns when it is imported"),
    "nvidia-ml-py3": ("nvidia-ml-py", "nvidia-ml-py3 has had no release since 2017"),
    "pytorch": ("torch", "`pytorch` on PyPI is an empty package that refuses to be installed"),
    "pytorch-triton": ("triton", "`pytorch-triton` on PyPI is a placeholder; torch brings its triton along"),
    "sklearn": ("scikit-learn", "`sklearn` on PyPI refuses to be installed"),
} | {
    f"nvidia-{name}-cu13": (f"nvidia-{name}", "since CUDA 13 this package has no suffix, and the old name is empty")
    for name in (
        "cublas", "cuda-cccl", "cuda-cupti", "cuda-nvcc", "cuda-nvrtc", "cuda-runtime", "cufft", "cufile", "curand",
        "cusolver", "cusparse", "nvjitlink", "nvtx",
    )
}  # fmt: skip
_LAST_SGL_KERNEL = Version("0.3.21")


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.installing:
        for it in step.wanted:
            if it.name in _RENAMED:
                name, why = _RENAMED[it.name]
                yield Finding(f"`{it.name}` is a name of the past: {why}", it.at, f"write `{name}`", step.id)
            elif it.name == "sgl-kernel" and _beyond(it):
                summary = "sgl-kernel ends with 0.3.21: what came after is called sglang-kernel"
                yield Finding(summary, it.at, "write `sglang-kernel`, and remove sgl-kernel in a step before", step.id)


def _beyond(it: Wanted) -> bool:
    if it.pin is None:
        return it.url is None and _LAST_SGL_KERNEL not in it.specifier
    try:
        return Version(it.pin.partition("+")[0]) > _LAST_SGL_KERNEL
    except InvalidVersion:
        return False


RULE = warning(
    "SP109",
    "a package under a name that its project has left",
    "The old name brings an empty package, an old release, or a wrapper that warns; an installer is content with all "
    "of them. sgl-kernel became sglang-kernel after 0.3.21, flashinfer is flashinfer-python, pynvml is nvidia-ml-py, "
    "and since CUDA 13 most NVIDIA libraries have no suffix (nvidia-cublas; nccl, cudnn, cusparselt and nvshmem keep "
    "theirs).",
    check,
)
