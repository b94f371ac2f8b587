"""What a tool writes into an entry of its kernel cache; a folder that holds anything else is not the tool's alone.

The name of a folder proves nothing: a cache's variable may lead into a store of other things that are named by hashes.
Read on 2026-12-02 in:
    triton 3.8 (triton/runtime/cache.py, build.py, backends/*): NAME.ENDING by stage of the compiler with NAME.json
        beside it, __grp__NAME.json, NAME.autotune.json, its own modules, `lock`, and tmp.pid_PID_UUID in passing
    tilelang (tilelang/cache/*_kernel_cache.py of 0.1.4 and of today): fixed names
    DeepGEMM (deep_gemm/jit and csrc/jit): `kernel` with an ending
"""

from __future__ import annotations

import os
import re
import stat

_LOCK = r"(?:.+\.)?lock"
_STAGE = r"(?P<kernel>.+)\.(?:ttir|ttgir|llir|ptx|sass|cubin|hsaco|amdgcn|spv|zebin)"
_MODULE = r"(?:__triton_launcher|cuda_utils|hip_utils|spirv_utils|arch_utils)(?:\.[\w-]+)?\.so"
_TRITON_BESIDE = re.compile(rf"__grp__.+\.json|{_LOCK}")
_OF_KERNEL = re.compile(r"(?P<kernel>.+)\.(?:json|source)")
_PASSING = re.compile(r"tmp\.pid_\d+_[0-9a-f-]+")
# By tool: what a kernel is known by, and what else the tool writes beside one.
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
}


def look(tool: str, path: str) -> tuple[bool, str | None]:
    """Return whether a folder holds kernels of a tool, and the first thing in it that the tool does not write.

    Of a tool whose files have no fixed names the entries are its own. Links and folders are no tool's, but for what
    triton renames its files out of. Raise OSError where the folder cannot be looked into.
    """
    if tool == "inductor" and os.path.basename(os.path.dirname(os.path.dirname(path))) == "triton":
        tool = "triton"
    if tool not in _WRITTEN:
        return True, None
    made, beside = _WRITTEN[tool]
    with os.scandir(path) as found:
        modes = {child.name: child.stat(follow_symlinks=False).st_mode for child in found}
    files = {name for name, mode in modes.items() if stat.S_ISREG(mode)}
    kernels = [match for match in map(made.fullmatch, files) if match]
    known = {match.string for match in kernels} | {name for name in files if beside.fullmatch(name)}
    if tool == "triton":
        compiled = {match["kernel"] for match in kernels}
        known |= {name for name in files if (it := _OF_KERNEL.fullmatch(name)) and it["kernel"] in compiled}
        known |= {name for name, mode in modes.items() if stat.S_ISDIR(mode) and _is_passing(os.path.join(path, name))}
    return bool(kernels), min(set(modes) - known, default=None)


def _is_passing(path: str) -> bool:
    """Return whether a folder is one that triton renames a file out of, and holds nothing but files of its kinds."""
    if not _PASSING.fullmatch(os.path.basename(path)):
        return False
    kinds = (_WRITTEN["triton"][0], _TRITON_BESIDE, _OF_KERNEL)
    with os.scandir(path) as found:
        return all(it.is_file(follow_symlinks=False) and any(kind.fullmatch(it.name) for kind in kinds) for it in found)
