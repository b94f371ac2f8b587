"""What the lab's index offers: stand-ins with the names, versions, pins and CUDA builds of the real packages.

The pins are those of the real packages: sglang 0.5.16 asks torch==2.11.0, sglang-kernel==0.4.5 and
flashinfer_python[cu13]==0.6.14; sglang 0.5.9 asks torch==2.9.1 and sgl-kernel==0.3.21; vllm 0.26.0 asks torch==2.11.0
and flashinfer-python==0.6.14. The public index's torch 2.10 and older are built for CUDA 12.8 and do not say so in
their metadata; its torch 2.11 and its vllm are built for CUDA 13.0.
"""

from collections.abc import Mapping
from pathlib import Path

from stackplan.lab.elf import shared_object
from stackplan.lab.wheels import Wheel

_NOTE = "# A stand-in of stackplan's lab: it has the metadata of the real package and none of its code.\n"
_DEVICE = Path(__file__).with_name("torch_device.py")
_ARCHITECTURES = {
    "12.8": "sm_70 sm_75 sm_80 sm_86 sm_90 sm_100 sm_120 compute_120",
    "13.0": "sm_75 sm_80 sm_86 sm_90 sm_100 sm_110 sm_120 compute_120",
}
_VISION = {"2.9.1": "0.24.1", "2.10.0": "0.25.0", "2.11.0": "0.26.0", "2.11.0.dev20260226": "0.26.0.dev20260226"}
NIGHTLY = "2.11.0.dev20260226"


def channels() -> Mapping[str, tuple[Wheel, ...]]:
    """Return the wheels of each index by the path under which it is served; the paths follow the real servers'."""
    old, new = _runtime_12(), _runtime_13()
    return {
        "default": (
            *torch_family("2.9.1", "12.8", label=False),
            *torch_family("2.10.0", "12.8", label=False),
            *torch_family("2.11.0", "13.0", label=False),
            old,
            new,
            *_sglang(),
            _flashinfer("0.6.3"),
            _flashinfer("0.6.14"),
            _cubin("0.6.3"),
            _kernel("sgl-kernel", "0.3.21", "12"),
            _kernel("sglang-kernel", "0.4.5", "13"),
            _legacy_app(),
            _vllm("0.26.0"),
        ),
        "whl/cu128": (*torch_family("2.10.0", "12.8"), *torch_family("2.9.1", "12.8"), old),
        "whl/cu130": (*torch_family("2.11.0", "13.0"), new),
        "whl/nightly/cu130": (*torch_family(NIGHTLY, "13.0"), new),
        "sgl/whl/cu130": (_kernel("sgl-kernel", "0.3.21+cu130", "13"), _kernel("sglang-kernel", "0.4.5+cu130", "13")),
        "flashinfer/whl": (_cubin("0.6.3"), _cubin("0.6.14")),
        "flashinfer/whl/cu130": (_jit_cache("0.6.3+cu130", "13"), _jit_cache("0.6.14+cu130", "13")),
        "flashinfer/whl/cu128": (_jit_cache("0.6.3+cu128", "12"), _jit_cache("0.6.14+cu128", "12")),
    }


def torch_family(version: str, cuda: str, *, label: bool = True) -> tuple[Wheel, Wheel, Wheel]:
    """Return torch, torchvision and torchaudio of one build; without `label` only `torch/version.py` tells it."""
    suffix = f"+cu{cuda.replace('.', '')}"
    stated = suffix if label else ""
    torch = Wheel(
        "torch",
        version + stated,
        ("nvidia-cuda-runtime-cu12==12.8.90",) if cuda.startswith("12") else ("nvidia-cuda-runtime==13.0.96",),
        _torch_files(version + suffix, cuda),
    )
    pin = (f"torch=={version + stated}" if ".dev" in version else f"torch=={version}",)
    vision = Wheel(
        "torchvision", _VISION[version] + stated, pin, _extension("torchvision", cuda, _VISION[version] + suffix)
    )
    audio = Wheel("torchaudio", version + stated, pin, _extension("torchaudio", cuda, version + suffix))
    return torch, vision, audio


def _major(cuda: str) -> str:
    return cuda.partition(".")[0]


def _torch_files(version: str, cuda: str) -> dict[str, bytes]:
    runtime = f"libcudart.so.{_major(cuda)}"
    return {
        "torch/__init__.py": _python(
            "from torch import _C, _device, cuda, version",
            "from torch._device import equal, float32",
            "__version__ = version.__version__",
            "def arange(stop, dtype=None, device=None):",
            "    if device is not None:",
            "        _device.refuse_without_code(device, cuda.get_arch_list())",
            "    return _device.Tensor(range(stop), None, device)",
        ),
        "torch/_device.py": _DEVICE.read_bytes(),
        "torch/version.py": _python(
            "__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'xpu']",
            f"__version__ = '{version}'",
            "debug = False",
            f"cuda = '{cuda}'",
            "git_version = '0000000000000000000000000000000000000000'",
            "hip = None",
            "xpu = None",
        ),
        "torch/_C.py": _python("def _cuda_getArchFlags():", f"    return {_ARCHITECTURES[cuda]!r}"),
        "torch/cuda/__init__.py": _python(
            "from torch import _C, _device",
            "from torch._device import OutOfMemoryError",
            "def get_arch_list():",
            "    return [word for word in _C._cuda_getArchFlags().split() if word.startswith('sm_')]",
            "def init():",
            "    if not _device.gpus():",
            "        raise RuntimeError('No CUDA GPUs are available')",
            "def device_count():",
            "    return len(_device.gpus())",
            "def get_device_name(index):",
            "    return _device.gpus()[index][0]",
            "def get_device_capability(index):",
            "    return tuple(int(part) for part in _device.gpus()[index][1].split('.'))",
            "def synchronize(device=None):",
            "    pass",
        ),
        "torch/lib/libtorch_cuda.so": shared_object(["libc10_cuda.so", runtime, "libc.so.6"], "libtorch_cuda.so"),
        "torch/lib/libc10_cuda.so": shared_object([runtime, "libc.so.6"], "libc10_cuda.so"),
    }


def _extension(package: str, cuda: str, version: str) -> dict[str, bytes]:
    runtime = f"libcudart.so.{_major(cuda)}"
    return {
        f"{package}/__init__.py": _python("import torch", f"__version__ = {version!r}", *_loader_check(runtime)),
        f"{package}/_C.so": shared_object(["libtorch_cuda.so", runtime, "libc.so.6"]),
    }


def _loader_check(runtime: str) -> tuple[str, ...]:
    """Return the lines that end an import as the dynamic loader would where torch brought another CUDA runtime."""
    return (
        f"if torch.version.cuda.split('.')[0] != {runtime.rsplit('.', 1)[1]!r}:",
        f"    raise ImportError('{runtime}: cannot open shared object file: No such file or directory')",
    )


def _kernel(name: str, version: str, major: str) -> Wheel:
    runtime = f"libcudart.so.{major}"
    files = {
        "sgl_kernel/__init__.py": _python("import torch", f"__version__ = {version!r}", *_loader_check(runtime)),
        "sgl_kernel/sm100/common_ops.abi3.so": shared_object(["libtorch_cuda.so", runtime, "libc.so.6"]),
    }
    return Wheel(name, version, (), files)


def _flashinfer(version: str) -> Wheel:
    files = {"flashinfer/__init__.py": _python("import torch", f"__version__ = {version!r}")}
    return Wheel("flashinfer-python", version, ("torch",), files, ("cu12", "cu13"))


def _cubin(version: str) -> Wheel:
    return Wheel(
        "flashinfer-cubin", version, (), {"flashinfer_cubin/__init__.py": _python(f"__version__ = {version!r}")}
    )


def _jit_cache(version: str, major: str) -> Wheel:
    files = {
        "flashinfer_jit_cache/__init__.py": _python(f"__version__ = {version!r}"),
        "flashinfer_jit_cache/jit_cache/norm/norm.so": shared_object([f"libcudart.so.{major}", "libc.so.6"]),
    }
    return Wheel("flashinfer-jit-cache", version, (), files)


def _sglang() -> tuple[Wheel, Wheel]:
    def build(version: str, *requires: str) -> Wheel:
        return Wheel("sglang", version, requires, {"sglang/__init__.py": _python(f"__version__ = {version!r}")})

    return (
        build(
            "0.5.9",
            "torch==2.9.1",
            "torchaudio==2.9.1",
            "torchvision",
            "sgl-kernel==0.3.21",
            "flashinfer_python==0.6.3",
            "flashinfer_cubin==0.6.3",
        ),
        build(
            "0.5.16",
            "torch==2.11.0",
            "torchaudio==2.11.0",
            "torchvision",
            "sglang-kernel==0.4.5",
            "flashinfer_python[cu13]==0.6.14",
        ),
    )


def _vllm(version: str) -> Wheel:
    """Return vLLM as the public index has it: built for CUDA 13.0, which its version does not say."""
    files = {
        "vllm/__init__.py": _python("import torch", f"__version__ = {version!r}", *_loader_check("libcudart.so.13")),
        "vllm/_C_stable_libtorch.abi3.so": shared_object(["libtorch_cuda.so", "libcudart.so.13", "libc.so.6"]),
    }
    requires = ("torch==2.11.0", "torchaudio==2.11.0", "torchvision==0.26.0", "flashinfer-python==0.6.14")
    return Wheel("vllm", version, requires, files)


def _legacy_app() -> Wheel:
    return Wheel("lab-legacy-app", "1.0", ("torch==2.10.0",), {"lab_legacy_app.py": _python("import torch")})


def _runtime_12() -> Wheel:
    path = "nvidia/cuda_runtime/lib/libcudart.so.12"
    return Wheel("nvidia-cuda-runtime-cu12", "12.8.90", (), {path: shared_object(["libc.so.6"], "libcudart.so.12")})


def _runtime_13() -> Wheel:
    path = "nvidia/cu13/lib/libcudart.so.13"
    return Wheel("nvidia-cuda-runtime", "13.0.96", (), {path: shared_object(["libc.so.6"], "libcudart.so.13")})


def _python(*lines: str) -> bytes:
    return (_NOTE + "\n".join(lines) + "\n").encode()
