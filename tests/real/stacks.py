"""Environments of real wheels from the public index, by name: what is installed, for which CUDA, and what imports."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Stack:
    """`imports` need no GPU. `family` are packages of one public version, where the stack has some."""

    packages: tuple[str, ...]
    cuda: str
    torch: str
    imports: tuple[str, ...] = ("torch", "torchvision")
    family: tuple[str, ...] = ()


HEALTHY = {
    "torch-2.9.1": Stack(
        ("torch==2.9.1", "torchvision==0.24.1", "torchaudio==2.9.1"),
        cuda="12.8",
        torch="2.9.1",
        imports=("torch", "torchvision", "torchaudio"),
        family=("torch", "torchaudio"),
    ),
    "torch-2.14.1": Stack(("torch==2.14.1", "torchvision==0.29.2"), cuda="13.0", torch="2.14.1"),
    "sglang-0.5.23": Stack(
        ("sglang==0.5.23",),
        cuda="13.0",
        torch="2.14.1",
        imports=("torch", "torchvision", "sglang", "flashinfer"),
        family=("nvidia-cutlass-dsl", "nvidia-cutlass-dsl-libs-base", "nvidia-cutlass-dsl-libs-cu13"),
    ),
}
"""The three that must not alarm."""

COHERENT = {
    **HEALTHY,
    # Each brings builds for several CUDA releases, or modules whose optional libraries are not there.
    "several-builds": Stack(
        ("torch==2.14.1", "bitsandbytes==0.50.2", "cupy-cuda13x==14.2.0", "nixl==1.5.1", "jax[cuda13]==0.10.2"),
        cuda="13.0",
        torch="2.14.1",
    ),
}
MIXED = {
    # torchaudio 2.11.0 asks for no torch in particular: an installer puts its build for CUDA 13 beside torch 2.9.1.
    "mixed-companion": Stack(("torch==2.9.1", "torchaudio==2.11.0"), cuda="12.8", torch="2.9.1"),
    "mixed-kernels": Stack(("torch==2.14.1", "sgl-kernel==0.3.21"), cuda="13.0", torch="2.14.1"),
}
STACKS = {**COHERENT, **MIXED}
