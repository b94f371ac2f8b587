"""What flashinfer's just-in-time build leaves in its tree, op by op, and what a person put there.

Read on 2026-12-02 in flashinfer 0.2 to 0.6 (flashinfer/jit/core.py, cpp_ext.py):
    cached_ops/NAME/NAME.so, build.ninja, .ninja_log, .ninja_deps, and the objects that build.ninja names
    cached_ops/tmp/     locks, and the build.ninja of several ops at once
    generated/          the sources that a build.ninja names, and NAME/..._config.inc
    flashinfer_jit.log
"""

from __future__ import annotations

import os
import re

from stackplan.node.queries._kernel_cache_listing import Listing

_LARGEST = 8 << 20
_BUILD = re.compile(r"^build (\S+): \S+ (\S+)", re.MULTILINE)
_BESIDE = re.compile(
    r"flashinfer_jit\.log|cached_ops/(?:[^/]+/)?(?:\.ninja_(?:log|deps|lock)|lock)"
    r"|cached_ops/tmp/(?:[^/]+\.lock|flashinfer_jit\w*\.ninja)"
)
_CONFIGURATION = re.compile(r"generated/([^/]+)/\w*config\.inc")


def look(listing: Listing) -> tuple[bool, list[str]]:
    """Return whether a tree holds ops of flashinfer, and by their paths in it what flashinfer did not write."""
    known: set[str] = set()
    built: set[str] = set()
    for folder in listing.folders:
        if os.path.dirname(folder) == "cached_ops":
            op = os.path.basename(folder)
            known.add(f"{folder}/{op}.so")
            if "build.ninja" in listing.files.get(folder, {}) and (found := _built(listing, folder, op)):
                known |= found
                built.add(op)
    own = False
    strays: list[str] = []
    for relative, _ in listing.every_file():
        if relative in known:
            own = True
        elif not _BESIDE.fullmatch(relative) and not _configures(relative, built):
            strays.append(relative)
    return own, strays


def _configures(relative: str, built: set[str]) -> bool:
    match = _CONFIGURATION.fullmatch(relative)
    return match is not None and match[1] in built


def _built(listing: Listing, folder: str, op: str) -> set[str]:
    """Return an op's build.ninja and what it builds and from what in this tree; nothing where it is not that op's."""
    try:
        content = listing.read(f"{folder}/build.ninja", _LARGEST)
    except OSError:
        return set()
    text = content.decode("utf-8", "surrogateescape")
    builds = [(output.replace("$name", op), source) for output, source in _BUILD.findall(text)]
    outputs = {os.path.basename(output) for output, _ in builds}
    if not text.startswith("ninja_required_version = ") or f"{op}.so" not in outputs:
        return set()
    objects = {it for it in outputs if it.endswith(".o")}
    sources = {
        source.rpartition("/generated/")[2].replace("$name", op) for _, source in builds if "/generated/" in source
    }
    return {
        f"{folder}/build.ninja",
        *(f"{folder}/{it}{ending}" for it in objects for ending in ("", ".d")),
        *(f"generated/{it}" for it in sources),
    }
