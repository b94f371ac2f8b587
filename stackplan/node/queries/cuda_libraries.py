"""Which CUDA libraries the files of an environment need, and where the loader would find them. Nothing is started.

Asked with `{"venv": …}` or `{"python": …}`. A distribution stands in the answer when a library of it needs, or is, a
CUDA library:
    {"name": "sgl-kernel", "version": "0.3.21", "folder": "sgl_kernel-0.3.21.dist-info",
     "needs": [{"library": "libcudart.so.12", "loaded": 5, "idle": 0, "missing": 5,
                "first": ["sgl_kernel/flash_ops.abi3.so"], "found": []}],
     "provides": [{"library": "libcudart.so.12", "loaded": false}],
     "overwritten": [{"path": "nvidia/nccl/lib/libnccl.so.2", "by": "nvidia-nccl-cu12"}]}
Of a path that two distributions recorded, the file is whoever's size it has; for the other it counts as overwritten.
`loaded` counts the files that an import loads: extension modules, and what these need in turn. Whatever else needs the
library is `idle`: a library that only a program's own code could open (one of a bundle for several CUDA releases, a
profiler's). `missing` counts the files among `loaded` for which the loader finds the library nowhere, and nobody could
have loaded it before: no library of the environment bears that name. `found` are the first few places where it is;
outside of the environment links are followed, so that the file's name tells its release. `files` is how many libraries
were looked at, `unseen` belongs to predictions: distributions whose files nobody has seen. `unreadable` are libraries
that are cut short or damaged, and what is no plain file; a linker script and another system's library are none of them.
"""

from __future__ import annotations

import os
import re
from typing import Any

from stackplan.node import elf, loader
from stackplan.node.context import Context, ProbeFailed
from stackplan.node.queries import _environment
from stackplan.node.queries._installed_libraries import Installed, Libraries, Library, shown

SHOWN = 5
MOST_LENT = 64
CUDA = re.compile(
    r"lib(?:cudart|cudnn|cublas|cufft|curand|cusolver|cusparse|cutensor|cufile|cupti|nvrtc|nvJitLink|nvjpeg|nvfatbin"
    r"|nvblas|nvshmem|npp|nccl)[^/]*\.so\.\d[^/]*$"
)
# `_C.cpython-311-x86_64-linux-gnu.so`, `common_ops.abi3.so`, `norm.so`; `libx.so` is a library, and no module.
_MODULE = re.compile(r"(?:(?!lib)|(?=.*\.(?:cpython|abi3)))[A-Za-z_]\w*(?:\.(?P<tag>[\w-]+))?\.so$")
_TAG = re.compile(r"cpython-(\d+)")
# `import torch` opens the first by its path, and everything that is built for torch needs the second.
_OPENED_BY_TORCH = ("torch/lib/libtorch_global_deps.so", "torch/lib/libtorch_cuda.so")


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    environment = _environment.find(arguments, context)
    libraries = Libraries(environment.own + environment.inherited)
    library_path = context.environment().get("LD_LIBRARY_PATH", "")
    imports = Imports(libraries, library_path, _cache(context), environment.python_version)
    rows = [_row(it, imports) for it in libraries.distributions]
    return dict(
        environment.answer(),
        library_path=shown(library_path),
        files=len(libraries.by_path),
        distributions=[row for row in rows if row["needs"] or row["provides"] or row["overwritten"]],
        unreadable=libraries.unreadable[:SHOWN],
        unseen=[],
    )


def _cache(context: Context) -> dict[str, list[str]]:
    """Return the system's ld.so.cache; one that cannot be read tells nothing, and other loaders have none."""
    try:
        return loader.read_cache(context.read("/etc/ld.so.cache"))
    except (FileNotFoundError, ProbeFailed):
        return {}


class Imports:
    """What importing every extension module of an environment loads, torch first: the others are built on it."""

    def __init__(
        self, libraries: Libraries, library_path: str, cache: dict[str, list[str]], python: str | None
    ) -> None:
        self.libraries = libraries
        self.loaded: set[str] = set()
        self.found: dict[tuple[str, str], str | None] = {}
        known = {path: it.elf for path, it in libraries.by_path.items() if it.elf is not None}
        self._loader = loader.Loader(library_path, cache, dict(known))
        self._named: dict[str, list[Library]] = {}
        for library in libraries.by_path.values():
            if library.elf is not None:
                for name in {library.elf.soname or "", os.path.basename(library.path)}:
                    self._named.setdefault(name, []).append(library)
        self._held: dict[str, str] = {}
        modules = [it for it in libraries.by_path.values() if it.elf is not None and imported(it.recorded, python)]
        of_torch = [it for it in modules if it.recorded.startswith("torch/")]
        for library in of_torch:
            self._load(library, hold=True)
        for library in modules:
            self._load(library, hold=False)

    def _load(self, first: Library, *, hold: bool) -> None:
        """Follow what a module needs, breadth first, as the loader does; `hold`: what is found serves all others."""
        waiting: list[tuple[Library, tuple[str, ...]]] = [(first, ())]
        for library, inherited in waiting:
            if library.path in self.loaded or library.elf is None:
                continue
            self.loaded.add(library.path)
            own = loader.folders(library.path, library.elf) if library.elf.before_environment else ()
            lent = tuple(dict.fromkeys((*own, *inherited)))[:MOST_LENT]
            for name in library.elf.needed:
                # What is neither CUDA's nor in the environment leads to no library of interest.
                if name not in self._named and not CUDA.match(name):
                    continue
                path = self._where(name, library, library.elf, inherited)
                self.found[library.path, name] = path
                if path is None:
                    continue
                if hold:
                    self._held.setdefault(name, path)
                if path in self.libraries.by_path:
                    waiting.append((self.libraries.by_path[path], lent))

    def _where(self, name: str, library: Library, file: elf.Elf, inherited: tuple[str, ...]) -> str | None:
        """Return where a library comes from: loaded already, found by the loader, or opened by a package's own code.

        Many packages open the libraries of other wheels by their path before they import what needs them.
        """
        path = self._held.get(name) or self._loader.find(name, library.path, file, inherited)
        if path is None:
            fitting = (it.path for it in self._named.get(name, ()) if it.elf and it.elf.machine == file.machine)
            path = next(fitting, None)
        if path is None:
            return None
        inside = os.path.normpath(path)
        return inside if inside in self.libraries.by_path else os.path.realpath(path)


def imported(recorded: str, python: str | None) -> bool:
    """Return whether importing loads the file at this path of a RECORD: it is an extension module for this Python."""
    if recorded in _OPENED_BY_TORCH:
        return True
    match = _MODULE.match(recorded.rpartition("/")[2])
    if match is None:
        return False
    tag = _TAG.match(match.group("tag") or "")
    return tag is None or python is None or tag.group(1) == "".join(python.split(".")[:2])


def _row(distribution: Installed, imports: Imports) -> dict[str, Any]:
    needs: dict[str, dict[str, Any]] = {}
    provides: dict[str, bool] = {}
    overwritten = []
    for recorded in distribution.recorded:
        library = imports.libraries.by_path.get(distribution.path(recorded))
        if library is None or library.elf is None:
            continue
        if library.owner is not distribution:
            overwritten.append({"path": shown(recorded), "by": shown(library.owner.name)})
            continue
        loaded = library.path in imports.loaded
        soname = library.elf.soname or ""
        if CUDA.match(soname):
            provides[soname] = provides.get(soname, False) or loaded
        for name in filter(CUDA.match, library.elf.needed):
            _count(needs.setdefault(name, _need(name)), library, imports.found.get((library.path, name)), loaded=loaded)
    return {
        "name": shown(distribution.name),
        "version": shown(distribution.version),
        "folder": shown(distribution.folder),
        "needs": [needs[name] for name in sorted(needs)],
        "provides": [{"library": shown(name), "loaded": provides[name]} for name in sorted(provides)],
        "overwritten": overwritten,
    }


def _need(name: str) -> dict[str, Any]:
    return {"library": shown(name), "loaded": 0, "idle": 0, "missing": 0, "first": [], "found": []}


def _count(need: dict[str, Any], library: Library, found: str | None, *, loaded: bool) -> None:
    need["loaded" if loaded else "idle"] += 1
    if not loaded:
        return
    if len(need["first"]) < SHOWN:
        need["first"].append(shown(library.recorded))
    if found is None:
        need["missing"] += 1
    elif len(need["found"]) < SHOWN and shown(found) not in need["found"]:
        need["found"].append(shown(found))
