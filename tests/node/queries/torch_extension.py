"""What torch's just-in-time build writes into the folder of an extension, in torch's words."""

MAIN = b"""\
#include <torch/extension.h>
at::Tensor fused(at::Tensor x) { return x; }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
m.def("fused", torch::wrap_pybind_function(fused), "fused");
}"""
CUDA = b"""\
#include <torch/types.h>
#include <cuda.h>
#include <cuda_runtime.h>
__global__ void kernel() {}"""


def ninja(name, folder="/home/ops/.cache/torch_extensions/py311_cu130/fused"):
    """Return a build.ninja as `load_inline` writes it for one source of C++ and one of CUDA."""
    return f"""\
ninja_required_version = 1.3
cxx = c++
nvcc = /usr/local/cuda/bin/nvcc

cflags = -DTORCH_EXTENSION_NAME={name} -DTORCH_API_INCLUDE_EXTENSION_H -isystem /v/torch/include -fPIC -std=c++20
post_cflags =\x20
cuda_cflags = -DTORCH_EXTENSION_NAME={name} --compiler-options '-fPIC' -std=c++20
cuda_post_cflags =\x20
cuda_dlink_post_cflags =\x20
sycl_dlink_post_cflags =\x20
ldflags = -shared -L/v/torch/lib -lc10 -ltorch

rule compile
  command = $cxx -MMD -MF $out.d $cflags -c $in -o $out $post_cflags
  depfile = $out.d
  deps = gcc

rule cuda_compile
  depfile = $out.d
  deps = gcc
  command = $nvcc -MD -MF $out.d $cuda_cflags -c $in -o $out $cuda_post_cflags



rule link
  command = $cxx $in $ldflags -o $out

build main.o: compile {folder}/main.cpp
build cuda.cuda.o: cuda_compile {folder}/cuda.cu



build {name}.so: link main.o cuda.cuda.o

default {name}.so
""".encode()
