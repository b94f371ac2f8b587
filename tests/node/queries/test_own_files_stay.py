"""What a person keeps under names that a kernel cache's tool uses as well stays, wherever the tool's variable leads."""

import hashlib

import pytest

from tests.node.queries.kernels import OLD

MD5 = hashlib.md5(b"x", usedforsecurity=False).hexdigest()
SHA = hashlib.sha256(b"y").hexdigest()
EXTENSION = ".cache/torch_extensions/py312_cu128/myop"
OPS = ".cache/flashinfer/0.6.14/90a"
BY_HAND = {
    f"{EXTENSION}/main.cpp": b"#include <torch/extension.h>\n\nint work() { return 42; }\n"
    b"PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {\n}\n",
    f"{EXTENSION}/cuda.cu": b"#include <torch/types.h>\n#include <cuda.h>\n#include <cuda_runtime.h>\n",
}


@pytest.mark.parametrize(
    ("files", "variables"),
    [
        (BY_HAND, {}),
        ({f"{OPS}/generated/mine/experiment.cu": b"// mine"}, {}),
        ({f"{OPS}/cached_ops/bench/train.log": b"results", f"{OPS}/cached_ops/bench/notes.d": b"x"}, {}),
        (
            {f"objects/cc/cc{hashlib.sha256(bytes([it])).hexdigest()[2:]}.safetensors": b"w" for it in range(9)},
            {"TORCHINDUCTOR_CACHE_DIR": "objects"},
        ),
        ({f"objects/fxgraph/aa/{SHA}.pt": b"data"}, {"TORCHINDUCTOR_CACHE_DIR": "objects"}),
        ({f"store/{MD5}/water.spv": b"shader"}, {"TRITON_CACHE_DIR": "store"}),
        ({f"store/{SHA}/handwritten.ptx": b"// mine"}, {"TRITON_CACHE_DIR": "store"}),
        ({f"store/{MD5}/results.autotune.json": b'{"my": "results"}'}, {"TRITON_CACHE_DIR": "store"}),
        ({"proj/cache/kernel.mygemm/kernel.cu": b"// mine"}, {"DG_JIT_CACHE_DIR": "proj"}),
        ({"models/torch_compile_cache/deadbeef/rank_0/model": b"weights"}, {"VLLM_CACHE_ROOT": "models"}),
        (
            {"models/torch_compile_cache/facade/rank_0/backbone/transformed_code.py": b"# mine"},
            {"VLLM_CACHE_ROOT": "models"},
        ),
    ],
)
def test_it_stays(home, write, clear, files, variables):
    for path, content in files.items():
        write(path, OLD, content)
    clear(variables={name: str(home / folder) for name, folder in variables.items()})
    assert {path: (home / path).read_bytes() for path in files} == files
