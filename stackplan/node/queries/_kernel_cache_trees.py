"""What inductor, flashinfer and vllm write into an entry of their caches, which is a tree, by the path from the entry.

Read on 2026-12-02 in:
    torch 2.14 (torch/_inductor/codecache.py, runtime/autotune_cache.py; AOTAutogradCache): SHARD/cHASH.ENDING,
        fxgraph/SHARD/fHASH/HASH and aotautograd/SHARD/aHASH/HASH, locks, and .PID.THREAD.tmp in passing
    torch 2.14 (torch/_inductor/standalone_compile.py): a compiled artifact is one file, or unpacked a cache of its own
    flashinfer 0.6 (flashinfer/jit/core.py): cached_ops/NAME/ with a build, cached_ops/tmp, generated/ with sources
    vllm 0.7 to 0.16 (vllm/compilation/backends.py, compiler_interface.py, decorators.py): rank_N/ or rank_N_N/, in it
        PREFIX/ or not, with the graph, the cache's index and artifact_…_subgraph_N; the caches of inductor and triton
        beside them; of a compilation ahead of time rank_N_N/model, and one cache of inductor's for all ranks
"""

from __future__ import annotations

import os
import re
from typing import Callable

from stackplan.node.queries._kernel_cache_listing import Listing

Judge = Callable[[Listing, str], "tuple[bool, list[str]]"]

_LOCK = r"(?:[^/]+\.)?lock"
_HASH = r"(?:[a-z2-7]{40,}|[a-z]?[0-9a-f]{32,})"
_PASSING = r"\.\d+\.\d+\.tmp"
# A file that is named by a hash, or that lies in a folder of such a name as a file of inductor's does.
_HASHED = rf"(?:[^/]+/)*(?:{_HASH}(?:[._-][^/]*)?|{_HASH}[^/]*/(?:entry|{_PASSING}))"
_INDUCTOR_BESIDE = rf"(?:[^/]+/)*(?:{_LOCK}|{_PASSING})"
_PLACE = r"(?:rank_\d+(?:_\d+)?/)?(?:[\w.-]+/)?"
_INDUCTORS = rf"{_PLACE}(?:inductor_cache|artifact_[^/]+_subgraph_\d+)/"
_IN_TREE = {
    "inductor": (re.compile(_HASHED), re.compile(_INDUCTOR_BESIDE)),
    "flashinfer": (
        re.compile(r"cached_ops/(?:[^/]+/)?(?:build\.ninja|[^/]+\.so)|generated/.+\.cu"),
        re.compile(
            rf"flashinfer_jit\.log|cached_ops/.*(?:\.ninja_\w+|\.(?:ninja|o|d|log)|/{_LOCK})"
            r"|generated/.+\.(?:cuh|h|hpp|hxx|c|cc|cpp|cxx|inc|inl|jinja|json)"
        ),
    ),
    "vllm": (
        re.compile(
            rf"{_PLACE}(?:computation_graph\w*\.py|transformed_code\.py|vllm_compile_cache\.py|inductor_hash_cache\.py"
            rf"|cache_key_factors\.json|artifact_[^/]+_subgraph_\d+)|rank_\d+(?:_\d+)?/model|{_INDUCTORS}{_HASHED}"
        ),
        re.compile(rf"{_INDUCTORS}{_INDUCTOR_BESIDE}|{_PLACE}{_LOCK}|rank_\d+(?:_\d+)?/model\.[\w.]*tmp"),
    ),
}
# A process of vllm 0.6 to 0.8 had a folder of its own.
_TRITONS = r"(?:.+/)?(?:triton_cache(?:_\d+)?|triton/\d+)/"
_OF_TRITON = re.compile(rf"{_TRITONS}(?:[A-Z2-7]{{52}}|[0-9a-f]{{64}}|[0-9a-f]{{32}})")
_TRITON_LOCKS = re.compile(rf"{_TRITONS}{_LOCK}")


def look(tool: str, listing: Listing, triton: Judge) -> tuple[bool, list[str]]:
    """Return whether a tree holds kernels of a tool, and by their paths in it what the tool did not write.

    `triton` judges the folders in it in which triton keeps a kernel.
    """
    made, beside = _IN_TREE[tool]
    own = False
    strays: list[str] = []
    for folder in listing.folders:
        if tool == "vllm" and _OF_TRITON.fullmatch(folder):
            kernels, found = triton(listing, folder)
            own = own or kernels
            strays += found
            continue
        if tool == "vllm" and _OF_TRITON.fullmatch(os.path.dirname(folder)):
            # It was judged with the folder above.
            continue
        for name in listing.files.get(folder, {}):
            relative = os.path.join(folder, name)
            if made.fullmatch(relative):
                own = True
            elif not beside.fullmatch(relative) and not (tool == "vllm" and _TRITON_LOCKS.fullmatch(relative)):
                strays.append(relative)
    return own, strays
