"""What a tool writes into an entry of its kernel cache; a folder that holds anything else is not the tool's alone.

The name of a folder proves nothing: a cache's variable may lead into a store of other things that are named by hashes.
Read on 2026-12-02 in:
    triton 3.8 (triton/runtime/cache.py, build.py, backends/*): NAME.ENDING by stage of the compiler with NAME.json
        beside it, __grp__NAME.json, NAME.autotune.json, its own modules, `lock`, and tmp.pid_PID_UUID in passing
    tilelang (tilelang/cache/*_kernel_cache.py of 0.1.4 and of today): fixed names
    DeepGEMM (deep_gemm/jit and csrc/jit): `kernel` with an ending
    triton 2.x (triton/compiler/make_launcher.py): KERNEL.so, the launcher, alone in a folder, told by its module
    torch 2.14 (torch/utils/cpp_extension.py): build.ninja, ninja's own files, objects, NAME.so, what load_inline writes
    flashinfer 0.6 (flashinfer/jit/core.py): cached_ops/NAME/ with a build, cached_ops/tmp, generated/ with sources
    torch 2.14 (torch/_inductor/codecache.py): cHASH.ENDING, fHASH, locks
    vllm 0.16 (vllm/compilation): rank_N_N/PREFIX/ with the graph and the cache's index, `model`, caches of inductor
"""

from __future__ import annotations

import os
import re
import stat
from typing import Callable

from stackplan.node.plain_file import open_plain

_LOCK = r"(?:.+\.)?lock"
_STAGE = r"(?P<kernel>.+)\.(?:ttir|ttgir|llir|ptx|cubin|hsaco|amdgcn|spv|zebin)"
_MODULE = r"(?:__triton_launcher|cuda_utils|hip_utils|spirv_utils|arch_utils)(?:\.[\w-]+)?\.so"
_TRITON_BESIDE = re.compile(rf"__grp__.+\.json|{_LOCK}")
_SHARED = re.compile(r".+\.so")
_OF_KERNEL = re.compile(r"(?P<kernel>.+)\.(?:json|source|sass)")
_LAUNCHER = b"PyInit___triton_launcher"
_LARGEST_LAUNCHER = 1 << 20
_PASSING = re.compile(r"tmp\.pid_\d+_[0-9a-f-]+")
# By tool: what a kernel is known by, and what else the tool writes beside one.
_HASHED = r"(?:[^/]+/)*[a-z0-9]{20,}[^/]*(?:/.+)?"
"""A file whose name begins with a hash, or that of a folder above it, as with all of inductor's but for its locks."""
_WRITTEN = {
    "triton": (re.compile(rf"{_STAGE}|{_MODULE}|.+\.autotune\.json"), _TRITON_BESIDE),
    "tilelang": (
        re.compile(r"(?:kernel|launcher)_lib\.so|executable\.so|kernel\.cubin"),
        re.compile(
            r"(?:kernel|wrapped_kernel|device_kernel|host_kernel)\.cu|kernel\.py|launcher\.cpp|params\.(?:pkl|json)"
            rf"|(?:resource_usage|manifest)\.json|{_LOCK}"
        ),
    ),
    "deep_gemm": (re.compile(r"kernel\.(?:cu|cubin|so|ptx|sass)"), re.compile(_LOCK)),
    "torch_extensions": (
        re.compile(r"build\.ninja"),
        re.compile(rf"\.ninja_\w+|.+\.(?:o|so|d|gch)|(?:main|cuda|hip|sycl)(?:_hip)?\.(?:cpp|cu|hip|sycl)|{_LOCK}"),
    ),
}
_RANK = r"rank_\d+(?:_\d+)?"
# The same of tools whose entries are trees, by the path from the entry.
_IN_TREE = {
    "inductor": (re.compile(_HASHED), re.compile(rf"(?:[^/]+/)*(?:{_LOCK})")),
    "flashinfer": (
        re.compile(r"cached_ops/(?:[^/]+/)?(?:build\.ninja|[^/]+\.so)|generated/.+\.cu"),
        re.compile(
            rf"flashinfer_jit\.log|cached_ops/.*(?:\.ninja_\w+|\.(?:ninja|o|d|log)|/{_LOCK})"
            r"|generated/.+\.(?:cuh|h|hpp|hxx|c|cc|cpp|cxx|inc|inl|jinja|json)"
        ),
    ),
    "vllm": (
        re.compile(
            rf"(?:{_RANK}/)?(?:[\w.-]+/)?(?:computation_graph\w*\.py|transformed_code\.py|vllm_compile_cache\.py"
            r"|cache_key_factors\.json)"
            rf"|{_RANK}/model|(?:{_RANK}/)?(?:[\w.-]+/)?(?:inductor_cache|triton_cache)/.+"
        ),
        # What lies beside these hangs on vllm's release and on inductor.
        re.compile(rf"{_RANK}/.+|{_LOCK}"),
    ),
}


def look(tool: str, path: str, spent: Callable[[], bool] = lambda: False) -> tuple[bool, str | None]:
    """Return whether a folder holds kernels of a tool, and the first thing in it that the tool does not write.

    Inductor's files are known by the hashes that they are named by. Links and folders are no tool's, but for what
    triton renames its files out of, and in the trees of flashinfer, vllm and inductor. A tree is looked at until
    `spent`. Raise OSError where the folder cannot be looked into.
    """
    if tool == "inductor" and os.path.basename(os.path.dirname(os.path.dirname(path))) == "triton":
        tool = "triton"
    if tool in _IN_TREE:
        return _look_into_tree(*_IN_TREE[tool], path, spent)
    if tool not in _WRITTEN:
        return True, None
    made, beside = _WRITTEN[tool]
    with os.scandir(path) as found:
        modes = {child.name: child.stat(follow_symlinks=False).st_mode for child in found}
    files = {name for name, mode in modes.items() if stat.S_ISREG(mode)}
    kernels = [match for match in map(made.fullmatch, files) if match]
    known = {match.string for match in kernels} | {name for name in files if beside.fullmatch(name)}
    if tool == "triton":
        kernels += [it for it in map(_SHARED.fullmatch, files - known) if it and _launches(os.path.join(path, it[0]))]
        known |= {match.string for match in kernels}
        compiled = {match.groupdict().get("kernel") for match in kernels}
        known |= {name for name in files if (it := _OF_KERNEL.fullmatch(name)) and it["kernel"] in compiled}
        known |= {name for name, mode in modes.items() if stat.S_ISDIR(mode) and _is_passing(os.path.join(path, name))}
    return bool(kernels), min(set(modes) - known, default=None)


def _look_into_tree(
    made: re.Pattern[str], beside: re.Pattern[str], path: str, spent: Callable[[], bool]
) -> tuple[bool, str | None]:
    kernels = False
    strays: list[str] = []
    refused: list[OSError] = []
    for folder, folders, names in os.walk(path, onerror=refused.append):
        if spent():
            # It is judged no further, either.
            return True, None
        inside = folder[len(path) :].lstrip("/")
        links = [it for it in folders if os.path.islink(os.path.join(folder, it))]
        for name in (*names, *links):
            relative = os.path.join(inside, name)
            if made.fullmatch(relative):
                kernels = True
            elif not beside.fullmatch(relative):
                strays.append(relative)
    # What may not be looked into may hold anything.
    strays += [os.path.relpath(error.filename, path) for error in refused if not isinstance(error, FileNotFoundError)]
    return kernels, min(strays, default=None)


def _launches(path: str) -> bool:
    """Return whether a shared object is the launcher of a kernel, by the name of the module that it is."""
    try:
        with open_plain(path) as stream:
            return _LAUNCHER in stream.read(_LARGEST_LAUNCHER)
    except OSError:
        return False


def _is_passing(path: str) -> bool:
    """Return whether a folder is one that triton renames a file out of, and holds nothing but files of its kinds."""
    if not _PASSING.fullmatch(os.path.basename(path)):
        return False
    kinds = (_WRITTEN["triton"][0], _TRITON_BESIDE, _OF_KERNEL)
    with os.scandir(path) as found:
        return all(it.is_file(follow_symlinks=False) and any(kind.fullmatch(it.name) for kind in kinds) for it in found)
