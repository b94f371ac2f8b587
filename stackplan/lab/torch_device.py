"""The lab's GPU as the stand-in for torch sees it: `torch/_device.py` of its wheels is this file, byte for byte.

It computes what a GPU would on the processor, for the GPUs that nvidia-smi names, and refuses those for which its torch
has no code, as the real one does. Standard library only: it runs in the environment of a node.
"""

import functools
import subprocess
from collections.abc import Callable, Sequence

float32 = "float32"
Number = int | float


class OutOfMemoryError(RuntimeError):
    """What torch raises where a GPU has no memory left; the lab's have always enough."""


class Tensor:
    """Numbers in a row, or in rows of `width`; `device` is None on the processor."""

    def __init__(self, values: Sequence[Number], width: int | None = None, device: str | None = None) -> None:
        self.values, self.width, self.device = list(values), width, device

    def __mul__(self, other: Number) -> "Tensor":
        return self._each(lambda it: it * other)

    def __add__(self, other: Number) -> "Tensor":
        return self._each(lambda it: it + other)

    def __mod__(self, other: int) -> "Tensor":
        return self._each(lambda it: it % other)

    def __matmul__(self, other: "Tensor") -> "Tensor":
        columns = list(zip(*other.rows(), strict=True))
        product = [sum(a * b for a, b in zip(row, column, strict=True)) for row in self.rows() for column in columns]
        return Tensor(product, other.width, self.device)

    def rows(self) -> list[list[Number]]:
        width = self.width or len(self.values)
        return [self.values[at : at + width] for at in range(0, len(self.values), width)]

    def reshape(self, _height: int, width: int) -> "Tensor":
        return Tensor(self.values, width, self.device)

    def float(self) -> "Tensor":
        return self._each(float)

    def sum(self) -> "Tensor":
        return Tensor([sum(self.values)], None, self.device)

    def item(self) -> Number:
        (value,) = self.values
        return value

    def cpu(self) -> "Tensor":
        return Tensor(self.values, self.width)

    def to(self, device: str) -> "Tensor":
        return Tensor(self.values, self.width, device)

    def _each(self, change: Callable[[Number], Number]) -> "Tensor":
        return Tensor([change(it) for it in self.values], self.width, self.device)


def equal(one: Tensor, other: Tensor) -> bool:
    return one.values == other.values and one.width == other.width


@functools.cache
def gpus() -> list[tuple[str, str]]:
    """Return name and compute capability of each GPU, as the node's nvidia-smi names them."""
    argv = ["nvidia-smi", "--query-gpu=name,compute_cap", "--format=csv,noheader"]
    try:
        told = subprocess.run(argv, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL).stdout
    except (OSError, subprocess.CalledProcessError):
        return []
    rows = (line.rpartition(", ") for line in told.splitlines())
    return [(name, capability) for name, _, capability in rows]


def refuse_without_code(device: str, architectures: Sequence[str]) -> None:
    """Raise RuntimeError, in torch's words, where nothing is built for the GPU `cuda:N`."""
    _, capability = gpus()[int(device.partition(":")[2] or 0)]
    major, _, minor = capability.partition(".")
    # Code for 8.0 runs on 8.6 too, that for another major does not.
    if not any(it.startswith(f"sm_{major}") and int(it[len(f"sm_{major}") :]) <= int(minor) for it in architectures):
        raise RuntimeError("CUDA error: no kernel image is available for execution on the device")
