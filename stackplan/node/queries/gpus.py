"""The GPUs of a node, from one run of nvidia-smi for all conditions of a batch.

Asked without arguments. A row of the answer's `gpus`:
    {"index": 0, "uuid": "GPU-5c…", "name": "NVIDIA RTX PRO 6000 Blackwell Server Edition", "driver": "580.95.05",
     "compute_capability": "12.0", "memory_bytes": 102641958912, "ecc_errors": 0, "mig": "disabled",
     "persistence": "enabled"}
A key is missing where the driver does not know the field, and null where it knows it and has no value (`[N/A]`).
"""

from __future__ import annotations

import re
from typing import Any, Callable

from stackplan.node.context import Context, ProbeFailed
from stackplan.node.queries import _smi

# nvidia-smi's field, our key, what a value looks like, what becomes of it. The name stands last: it may hold a comma.
_FIELDS: tuple[tuple[str, str, str, Callable[[str], Any]], ...] = (
    ("index", "index", r"\d+", int),
    ("uuid", "uuid", r"(GPU|MIG)-[0-9A-Za-z-]+", str),
    ("driver_version", "driver", r"\d+(\.\d+)+", str),
    ("compute_cap", "compute_capability", r"\d+\.\d+", str),
    ("memory.total", "memory_bytes", r"\d+", lambda text: int(text) * 1024 * 1024),
    ("ecc.errors.uncorrected.volatile.total", "ecc_errors", r"\d+", int),
    ("mig.mode.current", "mig", r"Enabled|Disabled", str.lower),
    ("persistence_mode", "persistence", r"Enabled|Disabled", str.lower),
    ("name", "name", r".*\S.*", str),
)


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:  # noqa: ARG001 - every query has this form
    found = _smi.rows("gpu", [field for field, _, _, _ in _FIELDS], context)
    return {"gpus": [_gpu(row) for row in found]}


def _gpu(row: dict[str, str | None]) -> dict[str, Any]:
    gpu: dict[str, Any] = {}
    for field, key, pattern, convert in _FIELDS:
        if field not in row:
            continue
        text = row[field]
        if text is not None and re.fullmatch(pattern, text) is None:
            raise ProbeFailed(f"nvidia-smi answered {text!r} for the field {field}")
        gpu[key] = None if text is None else convert(text)
    if gpu.get("index") is None:
        raise ProbeFailed("nvidia-smi gave a GPU without an index")
    return gpu
