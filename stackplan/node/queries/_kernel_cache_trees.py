"""What inductor and vllm write into an entry of their caches, which is a tree, by the path from the entry.

Read on 2026-12-02 in:
    torch 2.14 (torch/_inductor/codecache.py, runtime/autotune_cache.py; AOTAutogradCache): SHARD/cHASH.ENDING,
        fxgraph/SHARD/fHASH/HASH and aotautograd/SHARD/aHASH/HASH, locks, and .PID.THREAD.tmp in passing
    torch 2.14 (torch/_inductor/standalone_compile.py): a compiled artifact is one file, or unpacked a cache of its own
    vllm 0.7 to 0.16 (vllm/compilation/backends.py, compiler_interface.py, decorators.py): rank_N/ or rank_N_N/, in it
        PREFIX/ or not, with the graph, the cache's index and artifact_…_subgraph_N; the caches of inductor and triton
        beside them; transformed_code.py with the graph; of a compilation ahead of time rank_N_N/model, and one cache of
        inductor\'s for all ranks
What flashinfer writes stands in `_flashinfer_ops`.
"""

from __future__ import annotations

import os
import re
from typing import Callable

from stackplan.node.queries import _flashinfer_ops
from stackplan.node.queries._kernel_cache_listing import Listing

Judge = Callable[[Listing, str], "tuple[bool, list[str]]"]

_LOCK = r"(?:[^/]+\.)?lock"
_PASSING = r"\.\d+\.\d+\.tmp"
# The first 51 letters of a SHA-256 in base 32, which have a letter before them in names of code and graphs.
_HASH = r"[a-z2-7]{51}"
_ENDINGS = r"(?:py|cpp|cc|c|h|hpp|cu|o|so|a|cubin|ptx|hsaco|spv|json|best_config)"
_GENERATED = rf"c{_HASH}(?:[._][\w.-]+)?\.{_ENDINGS}|[0-9a-f]{{64}}\.best_config|__pycache__/c{_HASH}\.[\w.-]+\.pyc"
_SHARD = r"[a-z2-7]{2}"
_KEPT = rf"f{_HASH}/{_HASH}|a{_HASH}/(?:entry|{_HASH})"
# From the folder of a shard, from one of graphs, and from a cache of inductor's as a whole.
_HASHED = rf"(?:{_GENERATED}|{_SHARD}/(?:{_KEPT}))"
_DIGEST = r"(?:[0-9a-f]{32}|[0-9a-f]{64})"
_HASHED_BELOW = rf"(?:{_SHARD}/(?:{_GENERATED})|(?:fxgraph|aotautograd)/{_SHARD}/(?:{_KEPT})|cache/{_DIGEST})"
_HASHED_LOCK = rf"(?:[a-z]?{_HASH}|[0-9a-f]{{64}})[\w.]*\.lock"
_INDUCTOR_BESIDE = rf"(?:[^/]+/)*(?:{_HASHED_LOCK}|{_PASSING})"
_PLACE = r"(?:rank_\d+(?:_\d+)?/)?(?:[\w.-]+/)?"
_INDUCTORS = rf"{_PLACE}(?:inductor_cache|artifact_[^/]+_subgraph_\d+)/"
_IN_TREE = {
    "inductor": (re.compile(_HASHED), re.compile(_INDUCTOR_BESIDE)),
    "vllm": (
        re.compile(
            rf"{_PLACE}(?:computation_graph\w*\.py|vllm_compile_cache\.py|inductor_hash_cache\.py"
            rf"|cache_key_factors\.json|artifact_[^/]+_subgraph_\d+)|{_INDUCTORS}{_HASHED_BELOW}"
        ),
        re.compile(rf"{_INDUCTORS}{_INDUCTOR_BESIDE}|{_PLACE}{_LOCK}|rank_\d+(?:_\d+)?/model\.[\w.]*tmp"),
    ),
}
# Names that people give files, too: vllm's only beside a graph or an index of the same rank, a model beside any.
_TRANSFORMED = re.compile(rf"({_PLACE})transformed_code\.py")
_MODEL = re.compile(r"rank_\d+(?:_\d+)?/model")
# A process of vllm 0.6 to 0.8 had a folder of its own.
_TRITONS = r"(?:.+/)?(?:triton_cache(?:_\d+)?|triton/\d+)/"
_OF_TRITON = re.compile(rf"{_TRITONS}(?:[A-Z2-7]{{52}}|[0-9a-f]{{64}}|[0-9a-f]{{32}})")
_TRITON_LOCKS = re.compile(rf"{_TRITONS}{_LOCK}")


def look(tool: str, listing: Listing, triton: Judge) -> tuple[bool, list[str]]:
    """Return whether a tree holds kernels of a tool, and by their paths in it what the tool did not write.

    `triton` judges the folders in it in which triton keeps a kernel.
    """
    if tool == "flashinfer":
        return _flashinfer_ops.look(listing)
    made, beside = _IN_TREE[tool]
    own: set[str] = set()
    doubtful: list[str] = []
    strays: list[str] = []
    for folder in listing.folders:
        if tool == "vllm" and _OF_TRITON.fullmatch(folder):
            kernels, found = triton(listing, folder)
            own |= {folder} if kernels else set()
            strays += found
            continue
        if tool == "vllm" and _OF_TRITON.fullmatch(os.path.dirname(folder)):
            # It was judged with the folder above.
            continue
        for name in listing.files.get(folder, {}):
            relative = os.path.join(folder, name)
            if made.fullmatch(relative):
                own.add(relative)
            elif tool == "vllm" and (_TRANSFORMED.fullmatch(relative) or _MODEL.fullmatch(relative)):
                doubtful.append(relative)
            elif not beside.fullmatch(relative) and not (tool == "vllm" and _TRITON_LOCKS.fullmatch(relative)):
                strays.append(relative)
    strays += [it for it in doubtful if not _goes_with(it, own)]
    # What is in doubt is named: it is left, and not passed over.
    return bool(own or doubtful), strays


def _goes_with(relative: str, own: set[str]) -> bool:
    """Return whether what vllm writes beside a file of that name is there."""
    if _MODEL.fullmatch(relative):
        return bool(own)
    rank = relative.split("/", maxsplit=1)[0] + "/" if "/" in relative else ""
    return any(it.startswith(rank) for it in own)
