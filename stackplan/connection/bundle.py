"""The node program as it is sent: every module of `stackplan/node/`."""

import functools
import importlib.resources
from collections.abc import Iterator
from importlib.resources.abc import Traversable

from stackplan.node import boot

_PACKAGE = "stackplan.node"


@functools.cache
def bundle() -> bytes:
    """Return what BOOT reads, made once."""
    sources = {"stackplan": ""}
    sources.update(_sources(importlib.resources.files(_PACKAGE), _PACKAGE))
    return boot.bundle(sources)


def _sources(folder: Traversable, name: str) -> Iterator[tuple[str, str]]:
    for entry in sorted(folder.iterdir(), key=lambda it: it.name):
        stem, dot, kind = entry.name.partition(".")
        if entry.is_dir() and entry.joinpath("__init__.py").is_file():
            yield from _sources(entry, f"{name}.{stem}")
        elif dot and kind == "py":
            yield (name if stem == "__init__" else f"{name}.{stem}"), entry.read_text("utf-8")
