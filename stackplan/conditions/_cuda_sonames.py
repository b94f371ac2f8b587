"""To which CUDA releases a library belongs by its name: `libcudart.so.12` to CUDA 12.

Read on 2026-12-01 from NVIDIA's own wheels (nvidia-*-cu12 12.8, as torch 2.9.1 brings them, and nvidia-* 13.0, as torch
2.14.1 does) and from the table in NVIDIA's cuda-pathfinder 1.9.1 (`_dynamic_libs/descriptor_catalog.py`); those of CUDA
11 from its earlier releases. Most are numbered by the toolkit's major version. cufft, cusolver and cusparse count
otherwise; libcurand.so.10, libcufile.so.0, cuDNN and NCCL keep their number over several releases, and tell nothing.
"""

import re
from collections.abc import Mapping

from stackplan.model.regular import regular

# Copies in a repaired wheel bear a digest in their names: libcudart.3eda8113.so.13, libnvjpeg-1a359ba7.so.13.
_NAME = regular(r"lib(?P<stem>[A-Za-z][A-Za-z-]*?)(?:[.-][0-9a-f]{8})?(?:\.alt)?\.so\.(?P<number>\d+)(?:[.].*)?")
_BY_THE_TOOLKIT = frozenset(
    {"cudart", "cublas", "cublasLt", "nvblas", "nvrtc", "nvrtc-builtins", "nvJitLink", "nvfatbin", "nvjpeg", "cupti"}
)
_CUFFT = {10: {10, 11}, 11: {12}, 12: {13}}
_CUSOLVER = {10: {10, 11}, 11: {11, 12}, 12: {13}}
_OTHERWISE: Mapping[str, Mapping[int, set[int]]] = {
    "cufft": _CUFFT,
    "cufftw": _CUFFT,
    "cusolver": _CUSOLVER,
    "cusolverMg": _CUSOLVER,
    "cusparse": {10: {10}, 11: {11}, 12: {12, 13}},
}
_NAMED_FOR = regular(r"(?:^|-)(?P<word>cu|cuda)(?P<major>1\d)x?(?=-|$)")
# cu130, cu92, cu12, and flash-attn's cu12torch2.4cxx11abiTRUE.
_LABEL = regular(r"cu(?P<major>1\d|[89])\d*(?!\d)")


def majors(library: str) -> frozenset[int]:
    """Return the CUDA majors that have a library of this name; none where the name does not tell."""
    match = _NAME.fullmatch(library)
    if match is None:
        return frozenset()
    stem, number = match["stem"], int(match["number"])
    if stem in _BY_THE_TOOLKIT or stem.startswith("npp"):
        return frozenset({number})
    return frozenset(_OTHERWISE.get(stem, {}).get(number, ()))


def named_major(distribution: str) -> int | None:
    """Return the CUDA major in a distribution's canonical name: 12 for nvidia-nccl-cu12, cupy-cuda12x, nixl-cu12."""
    match = _NAMED_FOR.search(distribution)
    return None if match is None else int(match["major"])


def named_for(distribution: str, major: int) -> str:
    """Return what a distribution whose name holds a CUDA major is called for another one."""
    return _NAMED_FOR.sub(lambda found: found[0].replace(found["major"], str(major)), distribution)


def label_major(version: str) -> int | None:
    """Return the CUDA major in a version's local label: 12 for 2.10.0+cu128; None where it tells none."""
    for part in re.split(r"[.+_-]", version.partition("+")[2]):
        if (match := _LABEL.match(part)) is not None:
            return int(match["major"])
    return None
