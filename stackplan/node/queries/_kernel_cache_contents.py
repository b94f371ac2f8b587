"""What a tool writes into an entry of its kernel cache; a folder that holds anything else is not the tool's alone.

The name of a folder proves nothing: a cache's variable may lead into a store of other things that are named by hashes.
Read on 2026-12-02 in:
    triton 3.8 (triton/runtime/cache.py, build.py, backends/*): NAME.ENDING by stage of the compiler with NAME.json and
        __grp__NAME.json beside it, NAME.autotune.json with `key` and `configs_timings` in it, its own modules, `lock`,
        and tmp.pid_PID_UUID in passing
    tilelang (tilelang/cache/*_kernel_cache.py of 0.1.4 and of today): fixed names
    DeepGEMM (deep_gemm/jit and csrc/jit): `kernel` with an ending; without its binary it is no kernel yet
    triton 2.x (triton/compiler/make_launcher.py): KERNEL.so, the launcher, alone in a folder, told by its module
What torch, inductor, flashinfer and vllm write stands in `_torch_extension` and `_kernel_cache_trees`.
"""

from __future__ import annotations

import os
import re

from stackplan.node.queries import _kernel_cache_trees, _torch_extension
from stackplan.node.queries._kernel_cache_listing import Listing

_LOCK = r"(?:.+\.)?lock"
_STAGE = r"(?P<kernel>.+)\.(?:ttir|ttgir|llir|ptx|cubin|hsaco|amdgcn|spv|zebin)"
_MODULE = r"(?:__triton_launcher|cuda_utils|hip_utils|spirv_utils|arch_utils)(?:\.[\w-]+)?\.so"
_TRITON = re.compile(rf"{_STAGE}|{_MODULE}|.+\.autotune\.json")
_TUNED = (b'"key"', b'"configs_timings"')
_LARGEST_TUNED = 1 << 20
_TRITON_BESIDE = re.compile(rf"__grp__.+\.json|{_LOCK}")
_OF_KERNEL = re.compile(r"(?P<kernel>.+)\.(?:json|source|sass)")
_LAUNCHER = b"PyInit___triton_launcher"
_LARGEST_LAUNCHER = 1 << 20
_PASSING = re.compile(r"tmp\.pid_\d+_[0-9a-f-]+")
# By tool: what a kernel is known by, and what else the tool writes beside one.
_WRITTEN = {
    "tilelang": (
        re.compile(r"(?:kernel|launcher)_lib\.so|executable\.so|kernel\.cubin"),
        re.compile(
            r"(?:kernel|wrapped_kernel|device_kernel|host_kernel)\.cu|kernel\.py|launcher\.cpp|params\.(?:pkl|json)"
            rf"|(?:resource_usage|manifest)\.json|{_LOCK}"
        ),
    ),
    "deep_gemm": (re.compile(r"kernel\.(?:cubin|so)"), re.compile(rf"kernel\.(?:cu|ptx|sass)|{_LOCK}")),
}
_TREES = ("inductor", "flashinfer", "vllm")


def may_be(tool: str, listing: Listing) -> bool:
    """Return whether a folder of which only the top is listed can be the tool's; below are trees that are no caches."""
    return _tool(tool, listing) in _TREES or look(tool, listing)[0]


def look(tool: str, listing: Listing) -> tuple[bool, list[str]]:
    """Return whether a folder holds kernels of a tool, and by their paths in it what the tool did not write.

    Such a folder is named without what is in it. What may not be looked into may hold anything. Links are no tool's,
    but in the trees of flashinfer, vllm and inductor, where they bear the names of files.
    """
    tool = _tool(tool, listing)
    if tool == "torch_extensions":
        own, strays = _torch_extension.look(listing)
    elif tool == "triton":
        own, strays = _triton(listing, "")
    elif tool in _TREES:
        own, strays = _kernel_cache_trees.look(tool, listing, _triton)
    else:
        own, strays = _plain(listing, *_WRITTEN[tool])
    return own, sorted({*strays, *filter(None, listing.blind)})


def _tool(tool: str, listing: Listing) -> str:
    """Return whose the files are: inductor has triton keep its kernels in a folder of inductor's."""
    above = os.path.basename(os.path.dirname(os.path.dirname(listing.path)))
    return "triton" if tool == "inductor" and above == "triton" else tool


def _plain(listing: Listing, made: re.Pattern[str], beside: re.Pattern[str]) -> tuple[bool, list[str]]:
    files = {name for name, seen in listing.files[""].items() if seen.is_plain}
    kernels = {name for name in files if made.fullmatch(name)}
    known = kernels | {name for name in files if beside.fullmatch(name)}
    return bool(kernels), [*({*listing.files[""]} - known), *listing.folders_in[""]]


def _triton(listing: Listing, folder: str) -> tuple[bool, list[str]]:
    """Return the same of a folder in a listed tree, as it is for triton's kernels."""
    found = listing.files.get(folder, {})
    files = {name for name, seen in found.items() if seen.is_plain}
    matches = [match for match in map(_TRITON.fullmatch, files) if match]
    kernels = [match for match in matches if _is_tritons(listing, folder, match, files)]
    known = {match.string for match in kernels} | {name for name in files if _TRITON_BESIDE.fullmatch(name)}
    launchers = {it for it in files - known if it.endswith(".so") and _launches(listing, os.path.join(folder, it))}
    compiled = {match.groupdict().get("kernel") for match in kernels}
    known |= launchers
    known |= {name for name in files if (it := _OF_KERNEL.fullmatch(name)) and it["kernel"] in compiled}
    below = [os.path.join(folder, name) for name in listing.folders_in.get(folder, [])]
    strays = [os.path.join(folder, name) for name in {*found} - known]
    strays += [name for name in below if not _is_passing(listing, name)]
    return bool(kernels or launchers), strays


def _is_tritons(listing: Listing, folder: str, match: re.Match[str], files: set[str]) -> bool:
    """Return whether what is named as triton names it is triton's: a stage by the metadata of its kernel, without which
    triton does not load it, and what it measured by the keys in it.
    """
    kernel = match["kernel"]
    if kernel is not None:
        return f"{kernel}.json" in files or f"__grp__{kernel}.json" in files
    if not match.string.endswith(".json"):
        return True
    try:
        content = listing.read(os.path.join(folder, match.string), _LARGEST_TUNED)
    except OSError:
        return False
    return all(key in content for key in _TUNED)


def _launches(listing: Listing, name: str) -> bool:
    """Return whether a shared object is the launcher of a kernel, by the name of the module that it is."""
    try:
        return _LAUNCHER in listing.read(name, _LARGEST_LAUNCHER)
    except OSError:
        return False


def _is_passing(listing: Listing, folder: str) -> bool:
    """Return whether a folder is one that triton renames a file out of, and holds nothing but files of its kinds."""
    if not _PASSING.fullmatch(os.path.basename(folder)) or listing.folders_in.get(folder):
        return False
    kinds = (_TRITON, _TRITON_BESIDE, _OF_KERNEL)
    files = listing.files.get(folder, {})
    return all(seen.is_plain and any(kind.fullmatch(name) for kind in kinds) for name, seen in files.items())
