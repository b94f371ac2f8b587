"""Whether a small kernel runs on each GPU and gives the right result, by the environment's torch in fresh interpreters.

Asked with `{"venv": …, "gpus": null}` or `{"venv": …, "gpus": [0, 3]}`, or `python` instead of `venv`. The answer,
behind what every answer about an environment begins with:
    {"torch": {"version": "2.11.0+cu130", "cuda": "13.0", "archs": ["sm_90", "sm_120"]}, "fault": null, "expected": 8,
     "seen": 8, "gpus": [{"index": 0, "device": "0", "name": "NVIDIA H200", "compute_capability": "9.0", "fault": null,
                          "memory": false}]}
`torch` null: it does not import, and `fault` says why; otherwise `fault` is why CUDA does not start. `expected` is how
many devices nvidia-smi names, null where it could not be asked; `seen` how many torch sees. The index is nvidia-smi's;
a row is a GPU or, where MIG is on, an instance of one, with its UUID in `device`. `memory` tells that a fault is for
want of free memory, which says nothing of the kernel.

What torch prints is read and counts for nothing; of its last words up to 500 characters tell why it ended.

One process does all GPUs, one after the other, and writes down what it begins. When it hangs, crashes or meets a
fault, that GPU is named and a fresh one goes on with the rest.
"""

from __future__ import annotations

import json
import os
import re
import time
from typing import Any, NamedTuple

from stackplan.node.context import CannotTell, Context, ProbeFailed
from stackplan.node.queries import _environment, _interpret, _smi

# Importing torch and starting CUDA takes seconds, on eight GPUs of a loaded node half a minute.
PATIENCE_S = 90.0
LONGEST_S = 270.0
_FIELDS = ["index", "uuid", "compute_cap", "mig.mode.current", "name"]
_LIST_GPU = re.compile(r"^GPU (\d+): (.*) \(UUID: (GPU-[^)]+)\)")
_LIST_INSTANCE = re.compile(r"^\s+MIG \S+\s+Device\s+\d+: \(UUID: (MIG-[^)]+)\)")
_CODE = """
def note(value):
    os.write(argument["notes"], (json.dumps(value) + "\\n").encode())
visible = argument["visible"]
os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
os.environ.pop("CUDA_VISIBLE_DEVICES", None)
if visible is not None:
    os.environ["CUDA_VISIBLE_DEVICES"] = visible
import torch
archs = list(torch.cuda.get_arch_list())
if not archs and hasattr(torch._C, "_cuda_getArchFlags"):
    archs = (torch._C._cuda_getArchFlags() or "").split()
note({"torch": {"version": str(torch.__version__)[:100], "cuda": torch.version.cuda, "archs": archs[:100]}})
try:
    torch.cuda.init()
    seen = torch.cuda.device_count()
except Exception as error:
    note({"fault": (type(error).__name__ + ": " + str(error)).splitlines()[0][:500], "seen": 0})
    tell(None)
    sys.exit(0)
note({"seen": seen})
def run(device):
    x = torch.arange(4096, dtype=torch.float32, device=device)
    y = x * 2.0 + 1.0
    torch.cuda.synchronize(device)
    wanted = torch.arange(4096, dtype=torch.float32) * 2.0 + 1.0
    if not torch.equal(y.cpu(), wanted):
        return "a product came out wrong"
    if y.sum().item() != 16777216.0:
        return "a sum came out wrong: %r, not 16777216" % y.sum().item()
    small = (torch.arange(4096) % 7).reshape(64, 64).float()
    if not torch.equal((small.to(device) @ small.to(device)).cpu(), small @ small):
        return "a product of matrices came out wrong"
    return None
wanted = range(seen) if argument["indices"] is None else argument["indices"]
for index in wanted:
    if index in argument["done"] or index >= seen:
        continue
    note({"begin": index})
    told = {"index": index, "name": None, "compute_capability": None, "fault": None, "memory": False}
    try:
        told["name"] = str(torch.cuda.get_device_name(index))[:100]
        told["compute_capability"] = "%d.%d" % torch.cuda.get_device_capability(index)
        told["fault"] = run("cuda:%d" % index)
    except Exception as error:
        told["fault"] = (type(error).__name__ + ": " + str(error)).splitlines()[0][:500]
        told["memory"] = isinstance(error, getattr(torch.cuda, "OutOfMemoryError", ())) or "out of memory" in str(error)
    note({"gpu": told})
    if told["fault"]:
        break
tell(None)
"""


class Notes(NamedTuple):
    """What a process wrote down before it ended: values by name, rows, and the GPU that it had begun and not ended."""

    values: dict[str, Any]
    rows: list[dict[str, Any]]
    begun: int | None


class Target(NamedTuple):
    """A device that is addressed by its own UUID, because MIG is on somewhere on this node; `gpu` is its index."""

    gpu: int
    device: str
    name: str | None
    compute_capability: str | None
    fault: str | None


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    interpreter, head = _environment.runnable(arguments, context)
    told = dict(head, torch=None, fault=None, expected=None, seen=0, gpus=[])
    if interpreter is None:
        return told
    wanted = None if arguments.get("gpus") is None else [int(it) for it in arguments["gpus"]]
    expected, targets = _devices(context, wanted)
    told["expected"] = expected
    launcher = _Launcher(interpreter, context, time.monotonic() + LONGEST_S)
    if targets is None:
        told["gpus"] = launcher.all_of(wanted, told)
    else:
        told["gpus"] = [launcher.one(target, told) for target in targets]
    return told


def _devices(context: Context, wanted: list[int] | None) -> tuple[int | None, list[Target] | None]:
    """Return how many devices nvidia-smi names, and each of them where MIG is on; None for what it does not say."""
    try:
        rows = _smi.rows("gpu", _FIELDS, context)
    except (CannotTell, ProbeFailed):
        return None, None
    if not any((row.get("mig.mode.current") or "").lower() == "enabled" for row in rows):
        return len(rows), None
    instances = _instances(context)
    targets = []
    for row in rows:
        index = int(row["index"] or 0)
        if wanted is not None and index not in wanted:
            continue
        mig = (row.get("mig.mode.current") or "").lower() == "enabled"
        devices = instances.get(index, []) if mig else [row["uuid"] or str(index)]
        about = (row.get("name"), row.get("compute_cap"))
        targets += [Target(index, device, *about, None) for device in devices]
        if not devices:
            targets.append(Target(index, "MIG", *about, "MIG is on and there is no instance"))
    return len(targets), targets


def _instances(context: Context) -> dict[int, list[str]]:
    """Return the UUIDs of MIG instances by GPU, from `nvidia-smi -L`:

    GPU 0: NVIDIA H200 (UUID: GPU-5c2b5f8e-…)
      MIG 1g.18gb     Device  0: (UUID: MIG-7c1b…)
    """
    program = context.which("nvidia-smi")
    ran = context.run([program or "nvidia-smi", "-L"], timeout_s=_smi.TIMEOUT_S)
    found: dict[int, list[str]] = {}
    index = None
    for line in ran.text().splitlines():
        gpu, instance = _LIST_GPU.match(line), _LIST_INSTANCE.match(line)
        if gpu:
            index = int(gpu.group(1))
        elif instance and index is not None:
            found.setdefault(index, []).append(instance.group(1))
    return found


class _Launcher:
    """Starts the interpreters, each within what is left of the time for all."""

    def __init__(self, interpreter: str, context: Context, until: float) -> None:
        self._interpreter = interpreter
        self._context = context
        self._until = until

    def all_of(self, wanted: list[int] | None, told: dict[str, Any]) -> list[dict[str, Any]]:
        """Return a row for each GPU that torch sees; `told` is given what torch says of itself."""
        rows: dict[int, dict[str, Any]] = {}
        while True:
            before = len(rows)
            notes, why = self._start({"indices": wanted, "done": sorted(rows), "visible": None})
            _take(notes, why, told)
            for row in notes.rows:
                rows[row["index"]] = dict(row, device=str(row["index"]))
            if why is not None and notes.begun is not None:
                rows[notes.begun] = _row(notes.begun, str(notes.begun), fault=why)
            asked = range(told["seen"]) if wanted is None else [it for it in wanted if it < told["seen"]]
            missing = [index for index in asked if index not in rows]
            if not missing or len(rows) == before:
                break
        for index in missing:
            rows[index] = _row(index, str(index), fault=why or "no kernel was started on it")
        return [rows[index] for index in sorted(rows)]

    def one(self, target: Target, told: dict[str, Any]) -> dict[str, Any]:
        """Return the row of a device that a process sees alone."""
        about = {"name": target.name, "compute_capability": target.compute_capability}
        if target.fault is not None:
            return dict(_row(target.gpu, target.device, fault=target.fault), **about)
        notes, why = self._start({"indices": None, "done": [], "visible": target.device})
        seen = told["seen"]
        _take(notes, why, told)
        told["seen"] = seen + min(1, int(notes.values.get("seen") or 0))
        if notes.rows:
            return dict(notes.rows[0], index=target.gpu, device=target.device)
        fault = why or notes.values.get("fault") or "torch sees no device"
        return dict(_row(target.gpu, target.device, fault=fault), **about)

    def _start(self, argument: dict[str, Any]) -> tuple[Notes, str | None]:
        """Return what a process wrote down, and how it ended where it did not come to its end."""
        left = self._until - time.monotonic()
        if left <= 0:
            return Notes({}, [], None), f"there was no more time for it ({LONGEST_S:g} s for all GPUs)"
        descriptor = os.memfd_create("stackplan")
        try:
            why = None
            try:
                _interpret.told(
                    self._interpreter,
                    _CODE,
                    dict(argument, notes=descriptor),
                    self._context,
                    min(PATIENCE_S, left),
                    descriptors=(descriptor,),
                )
            except _interpret.Died as error:
                why = error.why
            except ProbeFailed as error:
                why = error.why.replace(self._interpreter, "the interpreter")[:500]
            return _read(descriptor), why
        finally:
            os.close(descriptor)


def _row(index: int, device: str, *, fault: str) -> dict[str, Any]:
    return {
        "index": index,
        "device": device,
        "name": None,
        "compute_capability": None,
        "fault": fault,
        "memory": False,
    }


def _take(notes: Notes, why: str | None, told: dict[str, Any]) -> None:
    told["torch"] = notes.values.get("torch") or told["torch"]
    told["seen"] = max(told["seen"], int(notes.values.get("seen") or 0))
    if told["torch"] is None or notes.values.get("fault"):
        told["fault"] = notes.values.get("fault") or told["fault"] or why
    elif why is not None and notes.begun is None and "seen" not in notes.values:
        told["fault"] = f"starting CUDA: {why}"


def _read(descriptor: int) -> Notes:
    text = os.pread(descriptor, 1 << 20, 0).decode("utf-8", "replace")
    values: dict[str, Any] = {}
    rows: list[dict[str, Any]] = []
    begun = None
    for line in text.splitlines():
        try:
            note = json.loads(line)
        except ValueError:
            # What ends a process may end it in the middle of a line.
            continue
        if "gpu" in note:
            rows.append(note["gpu"])
            begun = None
        elif "begin" in note:
            begun = note["begin"]
        else:
            values.update(note)
    return Notes(values, rows, begun)
