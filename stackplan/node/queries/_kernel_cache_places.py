"""Where tools keep the kernels that they compiled for a user, and how an entry of such a cache looks.

By the tools' own environment variables and defaults, read on 2026-12-02 in:
    triton 3.8 (triton/knobs.py): TRITON_CACHE_DIR, else (TRITON_HOME, else the home)/.triton/cache
    torch 2.14 (torch/utils/cpp_extension.py): TORCH_EXTENSIONS_DIR/NAME, else XDG_CACHE_HOME/torch_extensions/TAG/NAME
    torch 2.14 (torch/_inductor/runtime/cache_dir_utils.py): TORCHINDUCTOR_CACHE_DIR, else TMPDIR/torchinductor_USER
    flashinfer (flashinfer/jit/env.py): (FLASHINFER_WORKSPACE_BASE, else the home)/.cache/flashinfer/[VERSION/]ARCHS;
        `cubins` beside them are downloads, not compiled here
    vllm (vllm/envs.py): (VLLM_CACHE_ROOT, else XDG_CACHE_HOME/vllm)/torch_compile_cache/[torch_aot_compile/]HASH
    DeepGEMM: (DG_JIT_CACHE_DIR, else the home/.deep_gemm)/cache/kernel.NAME.HASH; sglang sets it to
        SGLANG_DG_CACHE_DIR, else ~/.cache/deep_gemm or (SGLANG_CACHE_DIR, else ~/.cache/sglang)/deep_gemm
    tilelang (tilelang/env.py, cache/kernel_cache.py): TILELANG_CACHE_DIR, else ~/.tilelang/cache, then HASH, since 2026
        VERSION/SYSTEM/kernels/HASH
What does not look like an entry is neither judged nor ever removed: such a variable may name any folder. What a name
alone does not tell, `_kernel_cache_contents` does. A folder on the way to an entry that cannot be looked into is noted,
and what lies beside it is found all the same.
"""

from __future__ import annotations

import os
import re
from typing import Callable, Dict, Iterator, Mapping, NamedTuple

from stackplan.node.plain_file import open_plain

_BASE32 = r"[A-Z2-7]{52}"
_HEX = r"[0-9a-f]{64}"
_ARCHITECTURES = r"noarch|\d+[a-z]*(?:_\d+[a-z]*)*"
_SHARD = r"[a-z2-7]{2}"

Refused = Dict[str, OSError]
"""The folders below a cache's that could not be looked into, by their paths."""


class Cache(NamedTuple):
    """A folder in which a tool keeps kernels. `named_by` is the variable that says so, None for the default place.

    `entries` yields the relative paths of what looks like the tool's entries, and notes what it could not look into; it
    raises OSError only where that is the cache's own folder. `packages` are what kernels are made by.
    """

    tool: str
    path: str
    named_by: str | None
    packages: tuple[str, ...]
    entries: Callable[[str, Refused], Iterator[str]]


def caches(environment: Mapping[str, str], home: str, user: str) -> list[Cache]:
    """Return the caches that this environment leads the tools to; none need exist. Of one folder the first counts."""
    get = environment.get
    xdg = get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    temporary = get("TMPDIR") or get("TEMP") or get("TMP") or "/tmp"  # noqa: S108 - where torch puts it
    name = re.sub(r'[\\/:*?"<>|]', "_", get("LOGNAME") or get("USER") or user)
    own_sglang = os.path.join(get("SGLANG_CACHE_DIR") or os.path.join(home, ".cache", "sglang"), "deep_gemm")
    extensions = _extensions(1 if get("TORCH_EXTENSIONS_DIR") else 2)
    triton, torch, gemm = ("triton", "torch"), ("torch",), ("deep-gemm", "sgl-kernel", "sglang-kernel", "torch")
    flashinfer = os.path.join(get("FLASHINFER_WORKSPACE_BASE") or home, ".cache", "flashinfer")
    tilelang = os.path.join(home, ".tilelang", "cache")
    triton_home = os.path.join(get("TRITON_HOME") or home, ".triton", "cache")
    compiled = os.path.join(get("VLLM_CACHE_ROOT") or os.path.join(xdg, "vllm"), "torch_compile_cache")
    rows = [
        ("triton", "TRITON_CACHE_DIR", triton_home, triton, _hashes),
        ("torch_extensions", "TORCH_EXTENSIONS_DIR", os.path.join(xdg, "torch_extensions"), torch, extensions),
        ("inductor", "TORCHINDUCTOR_CACHE_DIR", os.path.join(temporary, f"torchinductor_{name}"), triton, _inductor),
        ("flashinfer", None, flashinfer, ("flashinfer-python", "torch"), _flashinfer),
        ("vllm", None, compiled, ("vllm", "torch", "triton"), _vllm),
        ("deep_gemm", "DG_JIT_CACHE_DIR", os.path.join(home, ".deep_gemm"), gemm, _deep_gemm),
        ("deep_gemm", "SGLANG_DG_CACHE_DIR", os.path.join(xdg, "deep_gemm"), gemm, _deep_gemm),
        ("deep_gemm", None, own_sglang, gemm, _deep_gemm),
        ("tilelang", "TILELANG_CACHE_DIR", tilelang, ("tilelang", "torch"), _tilelang),
    ]
    bases = {"flashinfer": "FLASHINFER_WORKSPACE_BASE", "vllm": "VLLM_CACHE_ROOT"}
    found: dict[str, Cache] = {}
    for tool, variable, default, packages, entries in rows:
        named = get(variable) if variable else None
        path = _whole(named or default, home)
        by = variable if named else (bases.get(tool) if get(bases.get(tool, "")) else None)
        found.setdefault(path, Cache(tool, path, by, packages, entries))
    return list(found.values())


def named(tool: str, path: str, named_by: str | None) -> Cache:
    """Return the cache that an answer of `kernel_caches` names so, whatever the environment of this process says."""
    # How deep its entries lie hangs on whether this variable names it.
    variables = {named_by: path} if named_by == "TORCH_EXTENSIONS_DIR" else {}
    found = next(cache for cache in caches(variables, "/", "") if cache.tool == tool)
    return found._replace(path=path, named_by=named_by)


def _whole(path: str, home: str) -> str:
    """Return a whole path: a relative one counts from where the service starts, which is taken to be the home."""
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    return os.path.normpath(os.path.join(home, path))


def subfolders(path: str) -> list[str]:
    """Return the names of the folders in a folder, links left out. Raise OSError where it cannot be looked into."""
    with os.scandir(path) as entries:
        return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))


def _below(path: str, refused: Refused) -> list[str]:
    """Return the same of a folder in a cache's; of one that cannot be looked into none, which is noted."""
    try:
        return subfolders(path)
    except OSError as error:
        refused[path] = error
        return []


def _names(path: str, refused: Refused) -> set[str]:
    """Return the names of all that is in a folder; of one that cannot be looked into none, which is noted."""
    try:
        return {*os.listdir(path)}
    except OSError as error:
        refused[path] = error
        return set()


def _named(pattern: str) -> Callable[[str, Refused], Iterator[str]]:
    return lambda root, _: (name for name in subfolders(root) if re.fullmatch(pattern, name))


def _deep_gemm(root: str, refused: Refused) -> Iterator[str]:
    if "cache" not in subfolders(root):
        return
    for name in _below(os.path.join(root, "cache"), refused):
        if name.startswith("kernel."):
            path = os.path.join(root, "cache", name)
            if {"kernel.cubin", "kernel.so"} & _names(path, refused):
                yield os.path.join("cache", name)


def _extensions(depth: int) -> Callable[[str, Refused], Iterator[str]]:
    """Return what yields the folders, so deep, in which torch had ninja build an extension."""

    def entries(root: str, refused: Refused) -> Iterator[str]:
        first = subfolders(root)
        if depth == 1:
            found = first
        else:
            above = [name for name in first if re.match(r"py\d+\w*_(cu|rocm|cpu)", name)]
            found = [os.path.join(it, name) for it in above for name in _below(os.path.join(root, it), refused)]
        yield from (name for name in found if _builds_extension(os.path.join(root, name), refused))

    return entries


def _builds_extension(folder: str, refused: Refused) -> bool:
    try:
        with open_plain(os.path.join(folder, "build.ninja")) as rules:
            return b"TORCH_EXTENSION_NAME" in rules.read(1 << 16)
    except PermissionError as error:
        refused[folder] = error
    except OSError:
        pass
    return False


def _inductor(root: str, refused: Refused) -> Iterator[str]:
    """Yield folders of generated code (`ab` holds `cab….py`), of graphs, and of triton's kernels by device."""
    for name in subfolders(root):
        path = os.path.join(root, name)
        if re.fullmatch(_SHARD, name):
            if any(it.startswith(f"c{name}") for it in _names(path, refused)):
                yield name
        elif name in ("fxgraph", "aotautograd"):
            if all(re.fullmatch(_SHARD, it) for it in _names(path, refused)):
                yield name
        elif name == "triton":
            for device in _below(path, refused):
                if device.isdigit():
                    kernels = _below(os.path.join(path, device), refused)
                    yield from (os.path.join(name, device, it) for it in kernels if _is_hash(it))


def _flashinfer(root: str, refused: Refused) -> Iterator[str]:
    for name in subfolders(root):
        if re.match(r"\d+\.\d+", name):
            below = [os.path.join(name, it) for it in _below(os.path.join(root, name), refused)]
        else:
            below = [name]
        for path in below:
            if not re.fullmatch(_ARCHITECTURES, os.path.basename(path)):
                continue
            if {"cached_ops", "generated"} & {*_below(os.path.join(root, path), refused)}:
                yield path


def _vllm(root: str, refused: Refused) -> Iterator[str]:
    compiled = re.compile("[0-9a-f]{6,64}")
    names = subfolders(root)
    yield from (name for name in names if compiled.fullmatch(name))
    whole = "torch_aot_compile"
    if whole in names:
        below = _below(os.path.join(root, whole), refused)
        yield from (os.path.join(whole, it) for it in below if compiled.fullmatch(it))


def _tilelang(root: str, refused: Refused) -> Iterator[str]:
    for name in subfolders(root):
        if re.fullmatch(_HEX, name):
            yield name
        elif re.match(r"\d+\.\d+", name):
            for system in _below(os.path.join(root, name), refused):
                if "kernels" in _below(os.path.join(root, name, system), refused):
                    below = os.path.join(name, system, "kernels")
                    kernels = _below(os.path.join(root, below), refused)
                    yield from (os.path.join(below, it) for it in kernels if re.fullmatch(_HEX, it))


# An MD5 sum until triton 2.1.
_HASHES = f"{_BASE32}|{_HEX}|[0-9a-f]{{32}}"
_hashes = _named(_HASHES)


def _is_hash(name: str) -> bool:
    return re.fullmatch(_HASHES, name) is not None
